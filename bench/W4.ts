/**
 * W4: `kill -9` of the service in the middle of 1,000 runs of three calls each: alone, as when its process dies, and together
 * with its Postgres, which then recovers from its log first. Nothing may be lost.
 */
import { setTimeout as pause } from "node:timers/promises"
import { startStub } from "./support/Children.js"
import { sql } from "./support/Database.js"
import { publish, startService } from "./support/Service.js"
import { Table } from "./support/Table.js"
import { threeCalls } from "./W2.js"

const runs = 1_000
const atOnce = 16
/** The share of all calls that is made before the kill. */
const killAt = 0.4

const finished = `SELECT count(*)::int AS n, count(*) FILTER (WHERE status = 'completed')::int AS completed FROM executions`

const killed = { alone: "W4 kill -9 in the middle of 1,000 runs", withPostgres: "W4 the same, Postgres killed with it" }

export const w4 = async (): Promise<void> => {
  await killAndRecover("alone")
  await killAndRecover("withPostgres")
}

const killAndRecover = async (kill: keyof typeof killed): Promise<void> => {
  const stub = await startStub()
  const service = await startService()
  const { dataDir } = service
  const workflow = await publish(service, "three_calls", threeCalls(stub.url), "standard")
  let left = runs
  let accepted = 0
  const began = Date.now()
  /** A submission that meets the killed service is not accepted, and not repeated. */
  const submit = async () => {
    while (left-- > 0) {
      const isAccepted = await service
        .call("POST", `/api/v1/workflows/${workflow}/execute`, { input: { name: "you" } })
        .then(
          () => true,
          () => false
        )
      if (isAccepted) accepted++
    }
  }
  const submitting = Promise.all(Array.from({ length: atOnce }, submit))
  while ((await stub.counts()).distinct < runs * 3 * killAt) await pause(2)
  service.child.kill("SIGKILL")
  if (kill === "withPostgres") service.killPostgres()
  const acceptedMillis = Date.now() - began
  await service.child.ended
  await submitting
  const atKill = await stub.counts()
  await stub.mark()
  const restarted = Date.now()
  const again = await startService({ dataDir, npm: true })
  const readyMillis = Date.now() - restarted
  const url = again.admin("svc")
  let done = 0
  for (const until = Date.now() + 120_000; Date.now() < until && done < accepted; await pause(20)) {
    const [row] = await sql(url, finished)
    done = Number(row?.["n"])
  }
  const doneMillis = Date.now() - restarted
  const [row] = await sql(url, finished)
  const counts = await stub.counts()
  const completed = Number(row?.["completed"])
  const rows = new Table("", "value", "must")
  rows.add("accepted, runs/s", Math.round((accepted * 1000) / acceptedMillis), "")
  rows.add("accepted before the kill", accepted, "")
  rows.add("calls made at the kill", atKill.distinct, "")
  rows.add("lost runs", Math.max(0, accepted - completed), "0")
  rows.add("calls made twice, under their key", counts.repeated, "in flight only")
  rows.add("... of these answered, their result not committed yet", counts.repeatedAfterAnswer, "")
  rows.add("calls beyond three a run", counts.distinct - completed * 3, "0")
  rows.add("restart to ready, by npm start, ms", readyMillis, "1200, aim 700")
  rows.add("restart to first progress, ms", (counts.firstSinceMark ?? Number.NaN) - restarted, "")
  rows.add("restart to all done, ms", doneMillis, "3300, aim 1500")
  rows.print(killed[kill])
  await again.stop()
  await stub.stop()
}
