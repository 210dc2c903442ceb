/**
 * Saves workflows: creates one with its first draft, changes the draft or what takes effect at once, and restores an earlier
 * draft. What a save overwrites is kept as `src/domain/workflow/Draft.ts` says.
 */
import { Effect } from "effect"
import {
  changedWorkflow,
  type CompiledContent,
  contentText,
  newWorkflow
} from "../../../domain/workflow/WorkflowChanges.js"
import {
  type Failure,
  type Forbidden,
  invalid,
  PlanLimitReached,
  refuseWith,
  type ValidationFailed
} from "../../../domain/Failure.js"
import { hasEarlierOrder } from "../../../domain/flow/Generation.js"
import { hasOrderWarning } from "../../../domain/flow/OrderWarnings.js"
import type { CustomerId } from "../../../domain/Ids.js"
import { canonicalJson, type JsonObject } from "../../../domain/Json.js"
import {
  type CreateWorkflow,
  flowNamePattern,
  UpdateWorkflow,
  type Workflow
} from "../../../domain/workflow/Workflow.js"
import { workflowSummary, type WorkflowView, workflowView } from "../../../domain/workflow/WorkflowView.js"
import { Digests } from "../../ports/Digests.js"
import { Identifiers } from "../../ports/Identifiers.js"
import type { Tx } from "../../ports/Records.js"
import { type CallContext, checkVersion } from "../CallContext.js"
import { narrowedCallerRefusal, type Principal } from "../Caller.js"
import { Changes } from "../Changes.js"
import { findCustomer } from "../organisation/CustomerRecords.js"
import { pickChanges } from "../ReadOnly.js"
import { currentTimestamp } from "../Timestamp.js"
import { isKept, replacedState } from "../../../domain/workflow/Draft.js"
import { findState, keepState } from "./DraftStates.js"
import { authorOf, codeRefusal } from "./WorkflowAuthor.js"
import { makeWorkflowCompiler } from "./WorkflowCompiler.js"
import { checkCustomerLimit } from "../organisation/CustomerLimits.js"
import {
  findWorkflow,
  publishedContent,
  publishedVersions,
  readWorkflowView,
  workflowResource
} from "./WorkflowRecords.js"

/** `isIncomplete`: a draft with mistakes is kept, with them. */
export interface SaveOptions {
  readonly isIncomplete: boolean
}

/** `isCompared`: the steps may be of an earlier generation. */
export interface CreateOptions extends SaveOptions {
  readonly isCompared: boolean
}

/** A change of a workflow. `compiled`: of its content; `null` if that does not change. */
interface DraftChange {
  readonly changes: UpdateWorkflow
  readonly compiled: CompiledContent | null
  readonly keeps: boolean
}

/** Members that take effect at once, in every environment. */
const immediate = ["enabled", "tier", "timeoutMs", "retry", "callbackUrl"] as const

const environmentRefusal = (caller: Principal, before: Workflow, after: Workflow): Forbidden | undefined => {
  const changed = immediate.find((member) => canonicalJson(before[member]) !== canonicalJson(after[member]))
  return changed === undefined
    ? undefined
    : narrowedCallerRefusal(caller, "environment", `${changed} takes effect in all of them and is not changed with it`)
}

const contentMember = (form: Workflow["form"]) => (form === "code" ? "code" : "spec")

/** The refusal of content in another form, and of a name that a flow cannot be called by. */
const formProblem = (form: Workflow["form"], sent: UpdateWorkflow): ValidationFailed | undefined => {
  const other = form === "code" ? "spec" : "code"
  if (sent[other] !== undefined)
    return invalid(other, "NOT_ALLOWED", `this workflow has the form ${form}: send ${contentMember(form)}`)
  return form === "steps" && sent.name !== undefined && !flowNamePattern.test(sent.name)
    ? invalid(
        "name",
        "INVALID_VALUE",
        "a flow is called by its name: a letter and up to 63 letters, digits and underscores"
      )
    : undefined
}

/** Counts the workflows of the same owner: a customer, or the organisation itself. */
const checkPlan = Effect.fnUntraced(function* (
  tx: Tx,
  { plan: { flowsPerTenant: limit } }: Principal,
  owner: CustomerId | null
): Effect.fn.Return<void, Failure> {
  if (limit === null) return
  // The lock serialises creations in one organisation, so that the count is exact.
  yield* tx.lockKeyOfAccount("flows_per_tenant")
  const used = yield* tx.workflows.count({ customerId: owner, deletedAt: null, status: ["draft", "published"] })
  if (used >= limit) return yield* new PlanLimitReached({ dimension: "flows_per_tenant", limit, used })
})

const draftMembers: ReadonlySet<string> = new Set(["code", "spec", "inputContract", "outputContract"])
const isOfDraft = (member: string): boolean => draftMembers.has(member)

/** Whether the earlier order of steps is in use: by the published version, or by a draft that was never published. */
const isToCompare = Effect.fnUntraced(function* (tx: Tx, caller: Principal, id: string) {
  const workflow = yield* findWorkflow(tx, caller, id)
  const [published] = yield* publishedVersions(tx, [workflow])
  return hasEarlierOrder((published ?? workflow).script) || (published === undefined && hasOrderWarning(workflow))
})

/** Saves workflows. */
export const makeWorkflowDrafts = Effect.gen(function* () {
  const { change, read } = yield* Changes
  const identifiers = yield* Identifiers
  const digests = yield* Digests
  const { checkInput, compile } = yield* makeWorkflowCompiler

  /** The draft with the hash of its content. */
  const withHash = (draft: Workflow): Workflow => ({
    ...draft,
    contentHash: digests.sha256Hex(contentText(draft))
  })

  /** The content of a new workflow, which has the form that it says. */
  const compileNew = Effect.fnUntraced(function* (caller: Principal, input: CreateWorkflow, options: CreateOptions) {
    yield* refuseWith(formProblem(input.form, input))
    const compiled = yield* compile(caller, input, { name: input.name, ...options })
    if (compiled !== undefined) return compiled
    return yield* invalid(contentMember(input.form), "REQUIRED", `is required for a workflow of form ${input.form}`)
  })

  /** Creates a workflow with its first draft, within the plan and the customer's limits. */
  const insertWorkflow = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    input: CreateWorkflow,
    compiled: CompiledContent
  ) {
    const { customerId: named = null } = input
    const owner = named === null ? null : (yield* findCustomer(tx, caller, named)).id
    yield* checkPlan(tx, caller, owner)
    if (owner !== null) yield* checkCustomerLimit(tx, owner, "flows_per_tenant")
    const author = authorOf(caller, yield* currentTimestamp)
    const workflow = withHash(newWorkflow(identifiers.workflow(), author, input, owner, compiled, ""))
    yield* tx.workflows.insert(workflow)
    return workflow
  })

  /** Creates a workflow. */
  const createWorkflow = (
    context: CallContext,
    input: CreateWorkflow,
    options: CreateOptions
  ): Effect.Effect<WorkflowView, Failure> =>
    Effect.flatMap(
      Effect.zipRight(checkInput(context.caller, input), compileNew(context.caller, input, options)),
      (compiled) =>
        change(context, function* (tx) {
          const workflow = yield* insertWorkflow(tx, context.caller, input, compiled)
          const value = workflowView(workflow, { versions: [], deployments: [], diagram: false })
          return { value, resource: workflowResource(workflow), after: workflowSummary(workflow, []) }
        })
    )

  /** Writes a change of the workflow, and keeps the draft that it replaces where that is due, or `keeps` says so. */
  const save = Effect.fnUntraced(function* (
    tx: Tx,
    caller: Principal,
    before: Workflow,
    { changes, compiled, keeps }: DraftChange
  ) {
    const author = authorOf(caller, yield* currentTimestamp)
    const { contentHash } = withHash(changedWorkflow(before, changes, compiled, "", author))
    const after = changedWorkflow(before, changes, compiled, contentHash, author)
    yield* refuseWith(environmentRefusal(caller, before, after))
    yield* tx.workflows.update(after)
    if (isKept(before, after) || (keeps && before.contentHash !== contentHash))
      yield* keepState(tx, replacedState(before, after))
    return {
      value: yield* readWorkflowView(tx, caller, after),
      resource: workflowResource(after),
      before: { ...workflowSummary(before, []), contentHash: before.contentHash },
      after: { ...workflowSummary(after, []), contentHash }
    }
  })

  /** Changes a workflow: code and contracts in the draft, the other members at once. */
  const updateWorkflow = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    sent: UpdateWorkflow,
    { isIncomplete }: SaveOptions
  ): Effect.fn.Return<WorkflowView, Failure> {
    const { caller } = context
    yield* checkInput(caller, sent)
    const isCompared = sent.spec !== undefined && (yield* read(context, (tx) => isToCompare(tx, caller, id)))
    const compiled = (yield* compile(caller, sent, { name: sent.name ?? id, isIncomplete, isCompared })) ?? null
    return yield* change(context, function* (tx) {
      const before = yield* findWorkflow(tx, caller, id, true)
      yield* checkVersion(context, sent.version, before.version)
      yield* refuseWith(formProblem(before.form, sent))
      const record = {
        ...(yield* readWorkflowView(tx, caller, before, true)),
        ...("published" in sent ? { published: yield* publishedContent(tx, before) } : {})
      }
      const changes = yield* pickChanges(UpdateWorkflow, sent, record)
      const saved = yield* save(tx, caller, before, { changes, compiled, keeps: false })
      return { ...saved, isDraftSave: caller.person !== null && Object.keys(changes).every(isOfDraft) }
    })
  })

  /**
   * Saves an earlier state of the draft again, with the mistakes that it has by now. The state that it replaces is kept.
   * `version`: that the workflow must have.
   */
  const restoreDraft = Effect.fnUntraced(function* (
    context: CallContext,
    id: string,
    number: number,
    version: number | undefined
  ): Effect.fn.Return<WorkflowView, Failure> {
    const { caller } = context
    const { inputContract, isCompared, outputContract, source, spec } = yield* read(context, function* (tx) {
      const state = yield* findState(tx, yield* findWorkflow(tx, caller, id), number)
      return { ...state, isCompared: yield* isToCompare(tx, caller, id) }
    })
    // A state has the code or the object that was saved.
    const content = source === null ? { spec: spec as JsonObject } : { code: source }
    yield* refuseWith(source === null ? undefined : codeRefusal(caller))
    const compiled = (yield* compile(caller, content, { name: id, isIncomplete: true, isCompared })) ?? null
    return yield* change(context, function* (tx) {
      const before = yield* findWorkflow(tx, caller, id, true)
      yield* checkVersion(context, version, before.version)
      const changes = { ...content, inputContract, outputContract }
      return yield* save(tx, caller, before, { changes, compiled, keeps: true })
    })
  })

  return { createWorkflow, updateWorkflow, restoreDraft }
})
