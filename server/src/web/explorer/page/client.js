// Asks the server: queries and mutations by POST, subscriptions over a socket. Without a token the
// browser's session counts.

/** Sends a request; gives its answer, or what the server says instead of one. */
export async function post(token, request) {
	const headers = { "Content-Type": "application/json" };
	if (token) headers.Authorization = `Bearer ${token}`;
	const answer = await fetch("/graphql", { method: "POST", headers, body: JSON.stringify(request) });
	return answer.json();
}

/** Follows a subscription in `graphql-transport-ws`; gives what ends it. It has `begun` once the
 * server took it on. */
export function follow(token, request, { begun, next, end }) {
	const address = new URL("/graphql/ws", location.href);
	address.protocol = address.protocol.replace("http", "ws");
	const socket = new WebSocket(address, "graphql-transport-ws");
	const send = (message) => socket.send(JSON.stringify(message));
	socket.onopen = () => send({ type: "connection_init", payload: token ? { token } : {} });
	socket.onmessage = ({ data }) => {
		const { type, payload } = JSON.parse(data);
		if (type === "connection_ack") {
			send({ id: "1", type: "subscribe", payload: request });
			begun();
		} else if (type === "ping") send({ type: "pong" });
		else if (type === "next") next(payload);
		else if (type === "error") {
			next({ errors: payload });
			socket.close(1000);
		} else if (type === "complete") socket.close(1000);
	};
	socket.onclose = ({ code, reason }) => end(code === 1000 ? "ended" : reason || `closed (${code})`);
	return () => socket.close(1000);
}
