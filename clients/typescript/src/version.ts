export const VERSION = "0.1.0";
export const PROTOCOL = 1;
export const CLIENT = `carillon-worker-typescript/${VERSION}`;
