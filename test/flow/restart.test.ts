/** A planned stop: what was accepted is answered, what comes later is told when to come again, and the rest is left. */
import { afterEach, assert, describe, it } from "@effect/vitest"
import * as http from "node:http"
import { onTestFinished } from "vitest"
import { isProcessAlive } from "../../src/runtime/embedded/Postmaster.js"
import { api } from "../support/api.js"
import { eventually } from "../support/eventually.js"
import { announce } from "../support/LogExpectations.js"
import { startProvider } from "../support/provider.js"
import { makeDataDirectory, postgresPid, prepareData, type Service, startService } from "../support/Service.js"
import { promptConnectEnv } from "../support/connectTimeout.js"

const asks = (url: string) => `export default async function () {
  const response = await fetch("${url}")
  return { status: response.status }
}`

/** A system that answers when `release` is called. */
const holdingProvider = async () => {
  const waiting: Array<http.ServerResponse> = []
  const provider = await startProvider((_, response) => void waiting.push(response))
  onTestFinished(provider.close)
  return { provider, release: () => waiting.splice(0).forEach((response) => response.end("{}")) }
}

const services: Array<Service> = []
afterEach(async () => {
  for (const service of services.splice(0)) {
    service.kill("SIGKILL")
    await service.ended
  }
})

const serviceWith = async (env: Readonly<Record<string, string>> = {}) => {
  const { dataDir, remove } = makeDataDirectory()
  onTestFinished(remove)
  await prepareData(dataDir)
  const service = startService({ dataDir, env: { SVC_EGRESS_ALLOW: "127.0.0.1/32", ...promptConnectEnv, ...env } })
  services.push(service)
  await service.ready
  return { service, client: api(dataDir), dataDir }
}

/** Stops the embedded Postgres from running until the returned function is called, or the test has finished. */
const pausePostgres = (dataDir: string) => {
  const pid = postgresPid(dataDir)
  process.kill(pid, "SIGSTOP")
  const resume = () => isProcessAlive(pid) && process.kill(pid, "SIGCONT")
  onTestFinished(async () => {
    resume()
    await eventually(
      async () => isProcessAlive(pid),
      (isAlive) => !isAlive
    )
  })
  return resume
}

interface Seen {
  readonly status: number | string
  readonly retryAfter: string | undefined
  readonly connection: string | undefined
}

/** Asks on a connection of its own; an error is its code. */
const ask = (url: string): Promise<Seen> =>
  new Promise((resolve) => {
    const request = http.get(url, { agent: false }, ({ headers, statusCode = 0 }) => {
      request.destroy()
      resolve({ status: statusCode, retryAfter: headers["retry-after"], connection: headers.connection })
    })
    request.on("error", (error: NodeJS.ErrnoException) =>
      resolve({ status: error.code ?? "", retryAfter: undefined, connection: undefined })
    )
  })

const refusal: Seen = { status: 503, retryAfter: "1", connection: "close" }

describe.sequential("a stop", () => {
  it("answers what was accepted, and refuses the rest until everything else has ended", async () => {
    const { client, dataDir, service } = await serviceWith()
    const { provider, release } = await holdingProvider()
    const { baseUrl } = client.dev
    const accepted = client.run(await client.workflow("asks", "instant", asks(provider.url)))
    await eventually(
      async () => provider.requests.length,
      (count) => count === 1
    )
    // A Postgres that does not end holds the stop at its last step.
    const resume = pausePostgres(dataDir)
    service.kill("SIGTERM")
    const probed = await eventually(
      () => ask(`${baseUrl}/readyz`),
      ({ status }) => status === 503
    )
    assert.strictEqual(probed.status, 503)
    assert.deepStrictEqual(await ask(`${baseUrl}/api/v1/executions`), refusal)
    release()
    assert.deepInclude(await accepted, { status: 200, body: { status: 200 } })
    // The probes end with what they ask.
    await eventually(
      () => ask(`${baseUrl}/healthz`),
      ({ status }) => status === 503
    )
    assert.deepStrictEqual(await ask(`${baseUrl}/api/v1/executions`), refusal)
    assert.notInclude(service.output(), "service.stopped")
    resume()
    const seen = new Set<string>()
    await eventually(
      () => ask(`${baseUrl}/api/v1/executions`),
      ({ retryAfter, status }) => {
        seen.add(`${status} ${retryAfter}`)
        return status === "ECONNREFUSED"
      }
    )
    assert.strictEqual(await service.ended, 0)
    seen.delete("ECONNREFUSED undefined")
    // A connection that the kernel accepted when the process ended.
    seen.delete("ECONNRESET undefined")
    assert.isTrue(
      [...seen].every((one) => one === "503 1"),
      [...seen].join(", ")
    )
  })

  it("starts no further runs of a queue", async () => {
    const { client, service } = await serviceWith({ SVC_RUN_SLOTS: "4" })
    const { provider } = await holdingProvider()
    const workflow = await client.workflow("asks", "standard", asks(provider.url))
    for (let n = 0; n < 40; n++) assert.strictEqual((await client.run(workflow)).status, 202)
    await eventually(
      async () => provider.requests.length,
      (count) => count === 4
    )
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 0, service.output())
    assert.lengthOf(provider.requests, 4)
  })

  it("ends within its grace, whatever hangs", async () => {
    announce(/service\.stop_overdue/)
    const { dataDir, service } = await serviceWith({ SVC_SHUTDOWN_GRACE: "1s" })
    pausePostgres(dataDir)
    service.kill("SIGTERM")
    assert.strictEqual(await service.ended, 1)
    assert.match(service.output(), /"service\.stop_overdue".*"phases":\{.*"requests"/)
  })
})
