/** Runs W1, W2 and the burst of W3 at 64 connections under V8's profiler, and prints where the service spends its CPU time. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { load, startStub } from "./support/Children.js"
import { printProfile } from "./support/Profile.js"
import { publish, type Service, startService } from "./support/Service.js"
import { oneCall, connectCustomer } from "./Connector.js"
import { connectCrm, recordRun } from "./Records.js"
import { threeCalls } from "./W2.js"
import { awaitCalls, makeWebhook, order } from "./W3.js"

const connections = Number(process.env["SVC_BENCH_CONNECTIONS"] ?? 64)

/** `prepare` returns the id of the workflow, and headers beside the usual ones. */
const profile = async (
  title: string,
  prepare: (service: Service) => Promise<readonly [workflow: string, headers: Readonly<Record<string, string>>]>
): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "svc-profile-"))
  const service = await startService({ node: ["--cpu-prof", `--cpu-prof-dir=${directory}`] })
  const [workflow, extraHeaders] = await prepare(service)
  const { port } = service
  const headers = { ...service.headers, ...extraHeaders }
  const path = `/api/v1/workflows/${workflow}/execute`
  const body = JSON.stringify({ input: { name: "you" } })
  const now = () => performance.now()
  const { after, before, result } = await load(
    { port, path, headers, body, connections, warmupMillis: 2_000, millis: 8_000 },
    now
  )
  await service.stop()
  const window = { millis: after - before, endMillis: performance.now() - after }
  printProfile(directory, `${title}, c=${connections}: ${Math.round(result.perSecond)}/s under the profiler`, window)
  rmSync(directory, { recursive: true })
}

export const profileW1 = (): Promise<void> =>
  profile("W1", async (service) => [await publish(service, "trivial", "return { hello: ctx.input.name }"), {}])

export const profileW2 = async (): Promise<void> => {
  const stub = await startStub()
  await profile("W2", async (service) => [await publish(service, "three_calls", threeCalls(stub.url)), {}])
  await stub.stop()
}

export const profileConnector = async (): Promise<void> => {
  const stub = await startStub()
  await profile("connector", async (service) => {
    const customer = await connectCustomer(service, stub.url)
    return [await publish(service, "calling", oneCall), { "x-org-id": customer }]
  })
  await stub.stop()
}

/** A run that reads a record. */
export const profileRecords = async (): Promise<void> => {
  const stub = await startStub()
  await profile("records", async (service) => {
    const { customerId } = await connectCrm(service, stub.url)
    return [await publish(service, "reading", recordRun), { "x-org-id": customerId }]
  })
  await stub.stop()
}

/** The burst of W3 until its last run has called: acknowledging and running take turns in the profile. */
export const profileW3 = async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "svc-profile-"))
  const stub = await startStub()
  const service = await startService({ node: ["--cpu-prof", `--cpu-prof-dir=${directory}`] })
  const webhook = await makeWebhook(service, stub)
  const send = async (count: number) => {
    await stub.reset()
    const began = performance.now()
    const { result } = await load({ ...order(webhook), count }, () => 0)
    await awaitCalls(stub, result.count)
    return { began, acks: Math.round(result.perSecond) }
  }
  await send(2_000)
  const { acks, began } = await send(10_000)
  const ended = performance.now()
  await service.stop()
  await stub.stop()
  const window = { millis: ended - began, endMillis: performance.now() - ended }
  printProfile(directory, `W3: ${acks} acks/s and 10,000 runs in ${Math.round(window.millis)} ms, profiled`, window)
  rmSync(directory, { recursive: true })
}
