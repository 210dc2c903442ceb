/** A client in a thread of its own: sends a request on its connection while the thread of the server is busy. */
import { connect } from "node:net"
import { parentPort, workerData } from "node:worker_threads"

const socket = connect(workerData.port, "127.0.0.1")
const tell = (kind, text) => parentPort.postMessage({ kind, text }, [])
socket.on("data", (bytes) => tell("data", String(bytes)))
socket.on("error", ({ code }) => tell("error", code))
socket.on("close", () => tell("close", ""))
parentPort.on("message", (bytes) => socket.write(bytes))
