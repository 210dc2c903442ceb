/** `svc.db`: statements and transactions on the workspace's own schema. At least once, like every call to the outside. */
import { Effect } from "effect"
import { ownerOfRun } from "../../../domain/share/ShareOwner.js"
import { isObject, type Json } from "../../../domain/Json.js"
import type { CallFailure } from "../../../domain/run/RunJournal.js"
import type { AnswerHolding } from "../../ports/HeldBytes.js"
import { type DbCaller, type DbRefused, type DbTransaction, WorkspaceDb } from "../../ports/run/WorkspaceDb.js"
import { failure, type HostCall, type HostRequest, refusedCall } from "./HostCall.js"

const dbFailure = ({ code, detail, hint, message, position, transient }: DbRefused): CallFailure =>
  failure("DatabaseError", message, transient ? "transient" : "code", { code, data: { detail, hint, position } })

/** The transaction that `db.begin` returned. The prelude passes it; a workflow cannot. */
const transactionOf = (value: Json | undefined): DbTransaction | null =>
  isObject(value) && typeof value["id"] === "string" && typeof value["xid"] === "string"
    ? { id: value["id"], xid: value["xid"] }
    : null

/** Plans the calls of `svc.db`, by name. */
export const makeDbCalls = Effect.gen(function* () {
  const db = yield* WorkspaceDb

  const callerOf = ({ spec: { run } }: HostRequest): DbCaller => ({
    owner: ownerOfRun(run),
    spaceId: run.spaceId,
    executionId: run.id
  })

  const outsideCall = (effect: Effect.Effect<Json, DbRefused, AnswerHolding>): HostCall => ({
    _tag: "Outside",
    run: effect.pipe(
      Effect.map((value) => ({ value })),
      Effect.mapError(dbFailure)
    )
  })

  const planQuery = (request: HostRequest): HostCall => {
    const [sql, params = [], transaction] = request.args
    if (typeof sql !== "string" || sql.trim() === "")
      return refusedCall(failure("TypeError", "svc.db.query takes a statement and, for $1, $2 …, an array of values"))
    if (!Array.isArray(params))
      return refusedCall(failure("TypeError", "svc.db.query: the values for $1, $2 … are an array"))
    const effect = db.query(callerOf(request), sql, params, transactionOf(transaction))
    return outsideCall(Effect.map(effect, ({ fields, rowCount, rows }) => ({ rows, rowCount, fields: [...fields] })))
  }

  const inTransaction =
    (run: (caller: DbCaller, transaction: DbTransaction) => Effect.Effect<void, DbRefused>) =>
    (request: HostRequest): HostCall => {
      const transaction = transactionOf(request.args[0])
      return transaction === null
        ? refusedCall(failure("TypeError", "this is not a transaction of svc.db"))
        : outsideCall(Effect.as(run(callerOf(request), transaction), null))
    }

  return {
    "db.query": planQuery,
    "db.begin": (request: HostRequest) =>
      outsideCall(Effect.map(db.begin(callerOf(request)), ({ id, xid }) => ({ id, xid }))),
    "db.commit": inTransaction(db.commit),
    "db.rollback": inTransaction(db.rollback)
  }
})
