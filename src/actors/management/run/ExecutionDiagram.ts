/** Draws the workflow of an execution, with what of it has run. */
import { Effect, Option } from "effect"
import { camelSlug } from "../../../domain/connector/Binding.js"
import { type Failure, NotFound } from "../../../domain/Failure.js"
import type { Diagram, DiagramNode, NodeMark } from "../../../domain/workflow/WorkflowAnalysis.js"
import type { Workflow } from "../../../domain/workflow/Workflow.js"
import type { StepStatus } from "../../ports/run/ExecutionReads.js"
import type { CallContext } from "../CallContext.js"
import { Changes } from "../Changes.js"
import { makeWorkflowCompiler } from "../workflow/WorkflowCompiler.js"
import { findVersion, findWorkflow } from "../workflow/WorkflowRecords.js"
import { findExecution } from "./ExecutionRecords.js"
import { makeLiveReads } from "./LiveReads.js"

/** Of several runs of a step, the one that says most: what failed, then what goes on. */
const ranks: ReadonlyArray<NodeMark> = ["failed", "running", "completed", "skipped"]

const markOf = (status: StepStatus["status"]): NodeMark =>
  status === "pending" || status === "waiting" ? "running" : status

/** What a step's row is called in a diagram: its name, or the action that code calls. */
const labelOf = ({ call, name }: StepStatus): string | undefined => {
  if (name !== null || call === null) return name ?? undefined
  const end = call.indexOf(".")
  return end < 0 ? undefined : `${camelSlug(call.slice(0, end))}${call.slice(end)}`
}

const nameOf = ({ id, kind, label }: DiagramNode): string => (kind === "connector" ? label : id)

/**
 * The diagram with a mark at each node that ran. Of code only the calls of connectors leave traces by which a node can be
 * found: that others did not run is not known.
 */
const withMarks = ({ edges, nodes }: Diagram, statuses: ReadonlyArray<StepStatus>, isFlow: boolean): Diagram => {
  const marks = new Map<string, NodeMark>()
  for (const one of statuses) {
    const name = labelOf(one)
    const mark = markOf(one.status)
    const known = name === undefined ? undefined : marks.get(name)
    if (name !== undefined && (known === undefined || ranks.indexOf(mark) < ranks.indexOf(known))) marks.set(name, mark)
  }
  const isStep = (kind: string) => isFlow && kind !== "start" && kind !== "end"
  const marked = (node: DiagramNode): DiagramNode => {
    const mark = marks.get(nameOf(node)) ?? (isStep(node.kind) ? "none" : undefined)
    return mark === undefined ? node : { ...node, mark }
  }
  return { edges, nodes: nodes.map(marked) }
}

type Drawn = Pick<Workflow, "contentHash" | "diagram" | "form">

const make = Effect.gen(function* () {
  const reads = yield* makeLiveReads
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
    const marked = withMarks(drawn.diagram as unknown as Diagram, statuses, drawn.form === "steps")
    return yield* computeStored("drawDiagram", caller, marked)
  })

  return { draw }
})

export class ExecutionDiagram extends Effect.Service<ExecutionDiagram>()("svc/ExecutionDiagram", { effect: make }) {}
