/**
 * An operation of the service, stated once: contract and use case, which agree by type. The surfaces, their documents and
 * any other front are made from the table of operations. Specification: Surfaces B and C.
 */
import { Effect, Schema } from "effect"
import type { Failure } from "../../domain/Failure.js"
import type { Exchange } from "../pipeline/Exchange.js"
import {
  type AnySchema,
  auditAction,
  type AuditPolicy,
  auditRead,
  type Contract,
  type Method,
  type Permit,
  type RequestForm,
  type ScopeRules,
  type Words
} from "./Contract.js"
import type { Output } from "./Output.js"
import type { Sharing } from "../../actors/management/Caller.js"

const defaultForm: RequestForm = { body: "record", idempotency: "reply", tenancy: "reach" }

/** The decoded input of a call, with the request that it is part of. */
export interface Call<Path, Query, Body> {
  readonly context: Exchange
  readonly path: Path
  readonly query: Query
  readonly body: Body
}

/** A call of any operation, whose input was decoded by the operation's own contract. */
// oxlint-disable-next-line typescript/no-explicit-any -- `operation` holds its use case to the types of its contract.
export type AnyCall = Call<any, any, any>

/** Makes the function that runs a use case and wraps its value as the contract's answer has it. */
type Prepare<R> = Effect.Effect<(call: AnyCall) => Effect.Effect<unknown, Failure>, never, R>

/** An operation with its use case, which needs the services `R`. */
export interface Operation<out R = unknown> extends Contract {
  readonly prepare: Prepare<R>
  /** The same for embed sessions; `undefined`: they may not call it. */
  readonly prepareForSessions: Prepare<R> | undefined
}

/** The services that an operation needs. */
export type ServicesOf<O> = O extends Operation<infer R> ? R : never

type Segments<P extends string> = P extends `${infer Head}/${infer Rest}` ? Head | Segments<Rest> : P

/** The parameters of a path, decoded as text. */
type ParamsOf<P extends string> = {
  readonly [S in Segments<P> as S extends `:${infer Name}` ? Name : never]: string
}

/** What guards an operation. */
interface Guards {
  readonly permit: Permit
  readonly audit: AuditPolicy
  readonly sharing: Sharing
  readonly scoped: ScopeRules
}

/** What an operation is declared with, besides what guards it and its use case. */
interface Description<M extends Method, P extends string, Path, Query, Body, A> extends Words {
  /** Group and name, which is also the operation's id in the documents: `customers.create`. */
  readonly name: `${string}.${string}`
  /** Method and path, as in `GET /api/v1/customers/:cid`. */
  readonly route: `${M} ${P}`
  /** The parameters of the path, where they are not any text. */
  // oxlint-disable-next-line typescript/no-explicit-any -- What is sent is checked by decoding it.
  readonly params?: Schema.Schema<Path, any>
  // oxlint-disable-next-line typescript/no-explicit-any -- As above.
  readonly query?: Schema.Schema<Query, any>
  // oxlint-disable-next-line typescript/no-explicit-any -- As above.
  readonly body?: Schema.Schema<Body, any>
  readonly output: Output<A>
  readonly failures?: Schema.Schema.All
  /** The members in which its form differs from the usual: a body that is parsed, a reply that answers repetitions. */
  readonly form?: Partial<RequestForm>
  readonly noStore?: boolean
  readonly openWhileSuspended?: boolean
}

/**
 * How embed sessions use an operation: by a use case of their own, which sees to whose records they are and answers with what
 * a page may show. Members that are left out are the operation's own.
 */
interface SessionRow<Path, Query, Body, A, S, R> {
  readonly permit?: Permit
  // oxlint-disable-next-line typescript/no-explicit-any -- What is sent is checked by decoding it.
  readonly query?: Schema.Schema<Query, any>
  // oxlint-disable-next-line typescript/no-explicit-any -- As above.
  readonly body?: Schema.Schema<Body, any>
  readonly output: Output<A>
  readonly words?: Partial<Pick<Words, "answers" | "description">>
  readonly refreshesTokens?: boolean
  readonly with: Effect.Effect<S, never, R>
  readonly use: UseCase<S, Path, Query, Body, A>
}

// oxlint-disable-next-line typescript/no-explicit-any -- A contract reads no types of it.
type AnySessionRow = SessionRow<any, any, any, any, any, any>

/** What an operation is declared with, besides its use case. */
type ContractRow<P extends string, Path, Query, Body, A> = Description<Method, P, Path, Query, Body, A> & Guards

type UseCase<S, Path, Query, Body, A> = (
  services: S,
  call: Call<Path, Query, Body>
) => Effect.Effect<NoInfer<A>, Failure>

/** The schema of a path whose parameters are any text. */
export const paramsSchema = (path: string): AnySchema | undefined => {
  const names = [...path.matchAll(/\/:(\w+)/g)].map(([, name = ""]) => name)
  return names.length === 0 ? undefined : Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.String])))
}

/** An operation that a route of its own serves: the two thin routes of surface A read its contract only. */
export const contract = <const P extends string, Path = ParamsOf<P>, Query = unknown, Body = unknown, A = unknown>({
  audit,
  body,
  description,
  answers,
  example,
  failures,
  form,
  name,
  noStore = false,
  openWhileSuspended = false,
  output,
  parameters = {},
  params,
  permit,
  query,
  route,
  scoped,
  sessions,
  sharing,
  summary
}: ContractRow<P, Path, Query, Body, A> & { readonly sessions?: Omit<AnySessionRow, "use" | "with"> }): Contract => {
  const [method, path] = route.split(" ") as [Method, P]
  const [group = "", own = ""] = name.split(".")
  return {
    group,
    name: own,
    method,
    path,
    summary,
    description,
    answers,
    parameters,
    ...(example === undefined ? {} : { example }),
    input: { path: params ?? paramsSchema(path), query, body },
    outputs: output.answers,
    isJson: (form?.body ?? "record") === "record" && output.answers.every(({ isJson }) => isJson),
    failures,
    permit,
    audit,
    sharing,
    scoped,
    form: { ...defaultForm, ...form },
    noStore,
    openWhileSuspended,
    sessions:
      sessions === undefined
        ? undefined
        : {
            permit: sessions.permit ?? permit,
            input: { query: sessions.query ?? query, body: sessions.body ?? body },
            outputs: sessions.output.answers,
            words: sessions.words ?? {},
            refreshesTokens: sessions.refreshesTokens === true
          }
  }
}

const prepared = <P, Q, B, A, S, R>({
  output,
  use,
  ...row
}: {
  readonly with: Effect.Effect<S, never, R>
  readonly use: UseCase<S, P, Q, B, A>
  readonly output: Output<A>
}): Prepare<R> =>
  Effect.map(row.with, (services) => (call: AnyCall) => Effect.map(use(services, call), (value) => output.wrap(value)))

/** Declares an operation: its contract and its use case agree by type. `with`: the services that `use` is given. */
export const operation = <
  const P extends string,
  A,
  S,
  R = never,
  Path = ParamsOf<P>,
  Query = unknown,
  Body = unknown,
  SA = unknown,
  SS = unknown,
  SR = never,
  SQuery = Query,
  SBody = Body
>(
  row: ContractRow<P, Path, Query, Body, A> & {
    readonly with: Effect.Effect<S, never, R>
    readonly use: UseCase<S, Path, Query, Body, A>
    readonly sessions?: SessionRow<Path, SQuery, SBody, SA, SS, SR>
  }
): Operation<R | SR> => ({
  ...contract(row),
  prepare: prepared(row),
  prepareForSessions: row.sessions === undefined ? undefined : prepared(row.sessions)
})

/** The guards that a row must state itself: those that its group does not share. Its audit follows from its name. */
type OwnGuards<D> = Partial<Guards> & {
  readonly [G in Exclude<keyof Guards, keyof D | "audit">]: Guards[G]
}

/** How a call is audited: a GET as a read of the resource, others under the resource and the operation's own name. */
const auditOf = (resource: string, method: string, name: string): AuditPolicy =>
  method === "GET"
    ? auditRead(resource)
    : auditAction(`${resource}.${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`)

/**
 * Makes the function that declares operations of one use case: with its services, and with what guards most of them, which
 * a row may replace. `resource`: the type of record that its calls are audited by. `parameters`: those of several rows.
 */
export const operationsOf =
  <S, R, D extends Partial<Guards>>({
    parameters,
    resource,
    ...shared
  }: D & Pick<Words, "parameters"> & { readonly resource: string; readonly with: Effect.Effect<S, never, R> }) =>
  <
    const M extends Method,
    const P extends string,
    A,
    Path = ParamsOf<P>,
    Query = unknown,
    Body = unknown,
    SA = unknown,
    SS = unknown,
    SR = never,
    SQuery = Query,
    SBody = Body
  >(
    row: Description<M, P, Path, Query, Body, A> &
      OwnGuards<D> & {
        readonly use: UseCase<S, Path, Query, Body, A>
        readonly sessions?: SessionRow<Path, SQuery, SBody, SA, SS, SR>
      }
  ): Operation<R | SR> => {
    const audit = auditOf(resource, row.route.split(" ")[0] ?? "", row.name.split(".")[1] ?? "")
    // Each guard is in the row, in what is shared, or made from the row's name, as the row's type says.
    return operation({
      audit,
      ...shared,
      ...row,
      parameters: { ...parameters, ...row.parameters }
    } as Parameters<typeof operation<P, A, S, R, Path, Query, Body, SA, SS, SR, SQuery, SBody>>[0])
  }
