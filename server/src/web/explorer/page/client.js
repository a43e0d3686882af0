// Sends requests to the server: queries and mutations by POST, subscriptions over a socket. Without
// a token, the browser's session identifies the user.

/** Sends a request; returns the JSON of the response, which may be a refusal. */
export async function post(token, request) {
	const headers = { "Content-Type": "application/json" };
	if (token) headers.Authorization = `Bearer ${token}`;
	const answer = await fetch("/graphql", { method: "POST", headers, body: JSON.stringify(request) });
	return answer.json();
}

/**
 * Runs a subscription over `graphql-transport-ws`, and calls `end` with the reason when it ends.
 * Calls `begun` once the server has accepted it.
 */
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
