/** A client in a thread of its own, so that what it computes delays no measurement of the test. See `attackerOf`. */
import { parentPort } from "node:worker_threads"

parentPort.on("message", ({ body, id, key, method, url }) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  fetch(url, { method, headers, ...(body === undefined ? {} : { body }) }).then(
    async (response) => parentPort.postMessage({ id, status: response.status, text: await response.text() }, []),
    (error) => parentPort.postMessage({ id, status: 0, text: JSON.stringify(String(error)) }, [])
  )
})
