/** What the editor says of steps that an earlier generation ran in another order, and what keeps that order. */
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import type { TextProblem } from "../../editor/Knowledge.js"
import { Button } from "../../ui/Button.js"
import { Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { orderedSpec } from "./draftText.js"

type Workflow = ApiSchemas["Workflow"]

/** A step that waits for others than it did. */
interface ChangedStep {
  readonly name: string
  readonly before: ReadonlyArray<string>
  readonly now: ReadonlyArray<string>
}
interface Warning {
  readonly code: string
  readonly message: string
  readonly steps?: ReadonlyArray<ChangedStep>
}

const codes: ReadonlySet<string> = new Set(["ORDER_CHANGED", "OLDER_GENERATION"])

/** Whether a warning is shown here, and not at its place in the text. */
export const isOfOrder = ({ code }: { readonly code?: string | undefined }): boolean =>
  code !== undefined && codes.has(code)

const listed = (names: ReadonlyArray<string>) => (names.length === 0 ? "nothing" : names.join(", "))

const sentence = (message: string) => `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`

/** The warnings that a workflow's draft was saved with. */
export const warningsOf = ({ warnings }: Workflow): ReadonlyArray<Warning & TextProblem> =>
  (Array.isArray(warnings) ? warnings : []) as ReadonlyArray<Warning & TextProblem>

/** What publishing changes beside the text: the generation of the steps. */
export const GenerationNotice = ({ workflow }: { readonly workflow: Workflow }) => {
  const [older, changed] = ["OLDER_GENERATION", "ORDER_CHANGED"].map((one) =>
    warningsOf(workflow).find(({ code }) => code === one)
  )
  if (older === undefined && changed === undefined) return null
  return (
    <div className="notice warn stack tight">
      {older !== undefined && <p>{sentence(older.message)}</p>}
      {changed !== undefined && <p>Steps then wait for others than they do now: the editor lists them.</p>}
    </div>
  )
}

/** `use`: puts the steps, with the earlier order written out, into the editor. */
export const OrderNotice = ({
  use,
  workflow
}: {
  readonly workflow: Workflow
  readonly use: (text: string) => void
}) => {
  const { id } = workflow
  const warnings = warningsOf(workflow)
  const keep = useChange(async () => {
    const query = { format: "flow.json", order: "earlier" } as const
    const request = { params: { path: { wid: id }, query }, parseAs: "text" as const }
    const text = (await bodyOf(client.GET("/api/v1/workflows/{wid}/export", request))) as unknown as string
    const { description: _, generation: _generation, name: _name, ...spec } = JSON.parse(text)
    use(orderedSpec(spec))
  })
  const older = warnings.find(({ code }) => code === "OLDER_GENERATION")
  const steps = warnings.find(({ code }) => code === "ORDER_CHANGED")?.steps
  if (older === undefined && steps === undefined) return null
  return (
    <div className="notice warn stack tight">
      {older !== undefined && <p>{sentence(older.message)}</p>}
      {steps !== undefined && (
        <>
          <p>
            These steps now wait for others than an earlier generation let them wait for: a step waits for all before it
            in its list, unless it has <code>dependsOn</code>.
          </p>
          <Table<ChangedStep>
            label="Steps whose order has changed"
            rows={steps}
            keyOf={({ name }) => name}
            columns={[
              { name: "Step", of: ({ name }) => <code>{name}</code> },
              { name: "Waited for", of: ({ before }) => listed(before) },
              { name: "Waits for", of: ({ now }) => listed(now) }
            ]}
          />
          <div className="row">
            <Button needs="workflows:update" onClick={() => keep.run()} isRunning={keep.isRunning}>
              Keep the earlier order
            </Button>
            <span className="soft">Writes it into the steps as dependsOn.</span>
          </div>
          {keep.error !== undefined && keep.error !== null && <Problem error={keep.error} />}
        </>
      )}
    </div>
  )
}
