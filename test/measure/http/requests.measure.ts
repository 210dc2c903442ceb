/** Bodies that are refused for their size take no memory. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { request } from "node:http"
import { assertBytes } from "../../support/figures.js"
import { type Running, start } from "../../support/InProcess.js"

let svc: Running
let port: number
beforeAll(async () => {
  svc = await start()
  port = (await svc.listen()).port
})
afterAll(() => svc.stop())

const megabyte = Buffer.alloc(1024 * 1024, 0x20)

/** Sends 100 MB, or as much as is taken. Returns the status. */
const upload = (path: string, isAnnounced: boolean) =>
  new Promise<number>((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${svc.first.key}`,
      ...(isAnnounced ? { "content-length": 100 * megabyte.length } : {})
    }
    const out = request({ port, host: "127.0.0.1", method: "POST", path, headers }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0))
    })
    out.on("error", reject)
    let sent = 0
    const next = () => {
      if (sent >= 100 || out.destroyed) return out.end()
      sent++
      return out.write(megabyte, (error) => (error === undefined || error === null ? next() : undefined))
    }
    next()
  })

const held = () => {
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

it.each([true, false])("100 MB (announced: %s)", async (isAnnounced) => {
  for (const path of ["/api/v1/customers", `/api/v1/workflows/${svc.first.workflowId}/execute`]) {
    const before = held()
    assert.strictEqual(await upload(path, isAnnounced), 413)
    assertBytes(held() - before, 60 * 1024 * 1024, path.replace(/wf_\w+/, "…"))
  }
})
