// A service of orders: each order is a run of a workflow of svc, and an event. See README.md beside it.
import { createServer } from "node:http"
import { connect, Failures } from "svc/rpc"

const { ORDERS_PORT = "4000", SVC_KEY = "", SVC_URL = "", SVC_WORKFLOW = "" } = process.env
const tell = (line) => console.log(JSON.stringify(line))

const svc = await connect({ url: SVC_URL.split(","), key: SVC_KEY })

/** Runs the workflow once for each number of an order, however often the order is sent. */
const accept = async (order) => {
  const idempotencyKey = `order-${order.number}`
  const { executionId } = await svc.executions.start({ workflowId: SVC_WORKFLOW, input: order, idempotencyKey })
  const { error, output, status } = await svc.executions.await({ id: executionId })
  const { eventId } = await svc.events.publish({ type: "order.accepted", payload: order, idempotencyKey })
  return { executionId, status, output, error, eventId }
}

/** Tells which runs change. After a gap it reads what it may have missed. */
const follow = async () => {
  for await (const item of svc.executions.watch()) {
    if (item._tag === "Changed") tell({ run: item.id, status: item.status })
    if (item._tag === "Position") tell({ watching: true })
    if (item._tag === "Gap") for (const { id, status } of (await svc.executions.list()).data) tell({ run: id, status })
  }
}

const server = createServer((request, response) => {
  const answer = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  const parts = []
  request.on("data", (part) => parts.push(part))
  request.on("end", async () => {
    try {
      answer(200, await accept(JSON.parse(Buffer.concat(parts).toString())))
    } catch (failure) {
      if (failure instanceof SyntaxError) answer(400, { message: "the order is no JSON" })
      else if (failure instanceof Failures.ConnectionLost) answer(503, { message: failure.message })
      else answer(failure.statusCode ?? 500, { tag: failure._tag, message: failure.message })
    }
  })
})

process.once("SIGTERM", () => server.close(() => svc.close()))
server.listen(Number(ORDERS_PORT), "127.0.0.1", () => tell({ listening: server.address().port }))
await follow()
