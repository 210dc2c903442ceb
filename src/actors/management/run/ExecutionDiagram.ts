/** Draws the workflow of an execution, with what of it has run. */
import { Effect, Option } from "effect"
import { camelSlug } from "../../../domain/connector/Binding.js"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { Diagram, DiagramNode, NodeMark } from "../../../domain/workflow/WorkflowAnalysis.js"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import { ExecutionReads, type StepStatus } from "../../ports/run/ExecutionReads.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { makeWorkflowCompiler } from "../workflow/WorkflowCompiler.js"
import { findVersion, findWorkflow } from "../workflow/WorkflowRecords.js"
import { findExecution } from "./ExecutionRecords.js"

/** Of several runs of a step, the one that says most: what failed, then what goes on. */
const ranks: ReadonlyArray<NodeMark> = ["failed", "running", "completed", "skipped"]

const markOf = (status: StepStatus["status"]): NodeMark =>
  status === "pending" || status === "waiting" ? "running" : status

/** What a step's row is called in a diagram: its name, or the action that code calls. */
const labelOf = ({ action, connector, name }: StepStatus): string | undefined =>
  name ?? (connector === null || action === null ? undefined : `${camelSlug(connector)}.${action}`)

const nameOf = ({ id, kind, label }: DiagramNode): string => (kind === "connector" ? label : id)

/** The diagram with a mark at each node that ran. */
const withMarks = ({ edges, nodes }: Diagram, statuses: ReadonlyArray<StepStatus>): Diagram => {
  const marks = new Map<string, NodeMark>()
  for (const one of statuses) {
    const name = labelOf(one)
    const mark = markOf(one.status)
    const known = name === undefined ? undefined : marks.get(name)
    if (name !== undefined && (known === undefined || ranks.indexOf(mark) < ranks.indexOf(known))) marks.set(name, mark)
  }
  const isEnd = (kind: string) => kind === "start" || kind === "end"
  return {
    edges,
    nodes: nodes.map((node) => (isEnd(node.kind) ? node : { ...node, mark: marks.get(nameOf(node)) ?? "none" }))
  }
}

type Drawn = Pick<Workflow, "contentHash" | "diagram">

const make = Effect.gen(function* () {
  const reads = yield* ExecutionReads
  const { read } = yield* Changes
  const { computeStored } = yield* makeWorkflowCompiler

  /** Fails with `NotFound` if the workflow is deleted, or the draft that ran has changed since. */
  const draw = Effect.fnUntraced(function* (context: CallContext, id: string) {
    const { caller } = context
    const { record, view } = yield* findExecution(
      caller,
      id,
      (known) => reads.find(caller, known),
      (found) => found.view
    )
    const drawn = yield* read(context, (tx) =>
      Effect.flatMap(findWorkflow(tx, caller, view.workflowId), (workflow): Effect.Effect<Drawn, Failure> =>
        view.workflowVersion === null ? Effect.succeed(workflow) : findVersion(tx, workflow, view.workflowVersion)
      )
    )
    if (drawn.contentHash !== record.contentHash) return yield* new NotFound({ what: "diagram" })
    const statuses = Option.getOrElse(yield* reads.stepStatuses(caller, view.id), () => [])
    // The analysis made it.
    return yield* computeStored("drawDiagram", caller, withMarks(drawn.diagram as unknown as Diagram, statuses))
  })

  return { draw }
})

export class ExecutionDiagram extends Effect.Service<ExecutionDiagram>()("svc/ExecutionDiagram", { effect: make }) {}
