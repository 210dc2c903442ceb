/** A service whose disk fills, and a sender of events. */
import { assert } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import * as path from "node:path"
import { onTestFinished } from "vitest"
import { type Api, api } from "./api.js"
import { makeDataDirectory, prepareData, startService } from "./Service.js"
import { moveToSmallDisk } from "./smallDisk.js"
import { makeWebhook, sendWebhook } from "./webhooks.js"

const mebibytes = 256

/** A service of which a folder below Postgres' data is a small disk. */
export const serviceOnSmallDisk = async (folder: string) => {
  const { dataDir, remove } = makeDataDirectory()
  onTestFinished(remove)
  await prepareData(dataDir)
  const disk = moveToSmallDisk(path.join(dataDir, "postgres", "cluster", "data", folder), mebibytes)
  onTestFinished(disk.remove)
  const service = startService({ dataDir })
  onTestFinished(async () => {
    service.kill("SIGKILL")
    await service.ended
  })
  await service.ready
  return { client: api(dataDir), disk, service }
}

/** Sends events one after the other, and keeps the ids of the acknowledged ones. */
export const senderOf = async (client: Api) => {
  const flow = await client.workflow("counting", "standard", "export default async (ctx) => ctx.input.n")
  const { path: target } = await makeWebhook(client, [{ workflowId: flow }])
  const acknowledged = new Set<string>()
  let n = 0
  /** Returns the answer. */
  const send = async (bytes = 16_384) => {
    const filler = randomBytes(bytes).toString("base64")
    const answer = await sendWebhook(client, target, JSON.stringify({ n: (n += 1), filler }))
    if (answer.status === 202) acknowledged.add(answer.body.eventId)
    else {
      assert.strictEqual(answer.status, 503, answer.text)
      assert.isAbove(Number(answer.headers.get("retry-after")), 0)
    }
    return answer
  }
  return { acknowledged, flow, send }
}
