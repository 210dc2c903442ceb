/** Creates a release of chosen versions of workflows, and deploys it if an environment is chosen. */
import { useState } from "react"
import { useLocation } from "wouter"
import { bodyOf, client } from "../../api/Client.js"
import { type ListRow, useChange, useList, useRead } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { CustomerChoice, EnvironmentChoice } from "../../ui/Choices.js"
import { FormDialog } from "../../ui/Dialog.js"
import { Check, Select, TextArea, TextField } from "../../ui/Field.js"
import { Loading, Problem } from "../../ui/States.js"
import { useForm } from "../../ui/useForm.js"

type Summary = ListRow<"/api/v1/workflows">
/** The versions that are chosen, by the workflow's id; 0: the published one. */
type Chosen = ReadonlyMap<string, number>

export const CreateRelease = ({ close }: { readonly close: () => void }) => {
  const { set, values } = useForm({ name: "", version: "", notes: "", customerId: "", environment: "", isAll: true })
  const [chosen, setChosen] = useState<Chosen>(new Map())
  const [, go] = useLocation()
  const create = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/releases", {
          body: {
            ...(values.name === "" ? {} : { name: values.name }),
            ...(values.version === "" ? {} : { version: values.version }),
            ...(values.notes === "" ? {} : { notes: values.notes }),
            ...(values.customerId === "" ? {} : { customerId: values.customerId }),
            ...(values.environment === "" ? {} : { environment: values.environment }),
            ...(values.isAll
              ? {}
              : {
                  workflows: [...chosen].map(([workflowId, version]) => ({
                    workflowId,
                    ...(version === 0 ? {} : { version })
                  }))
                })
          }
        })
      ),
    { changes: ["/api/v1/releases", "/api/v1/workflows/{wid}"], done: ({ data }) => go(`/releases/${data.id}`) }
  )
  const wrong = (path: string) => create.error?.detailOf(path)
  return (
    <FormDialog
      title="Create a release"
      verb={values.environment === "" ? "Create" : `Create, and deploy to ${values.environment}`}
      isOpen
      isWide
      close={close}
      send={() => create.run()}
      isRunning={create.isRunning}
      isReady={values.isAll || chosen.size > 0}
      error={create.error}
    >
      <div className="columns">
        <TextField label="Name (optional)" value={values.name} onChange={set("name")} wrong={wrong("name")} />
        <TextField
          label="Version (optional)"
          hint="Three numbers, such as 1.4.0. Empty: the next number."
          value={values.version}
          onChange={set("version")}
          wrong={wrong("version")}
        />
        <CustomerChoice
          none="All customers"
          value={values.customerId}
          onChange={set("customerId")}
          wrong={wrong("customerId")}
        />
        <EnvironmentChoice
          label="Deploy at once to"
          none="Nowhere yet"
          value={values.environment}
          onChange={set("environment")}
          wrong={wrong("environment")}
        />
      </div>
      <TextArea label="Notes (optional)" rows={3} value={values.notes} onChange={set("notes")} wrong={wrong("notes")} />
      <Check checked={values.isAll} onChange={set("isAll")}>
        All published workflows, in their published versions
      </Check>
      {!values.isAll && <WorkflowVersions chosen={chosen} choose={setChosen} customerId={values.customerId} />}
    </FormDialog>
  )
}

const WorkflowVersions = ({
  choose,
  chosen,
  customerId
}: {
  readonly chosen: Chosen
  readonly choose: (chosen: Chosen) => void
  readonly customerId: string
}) => {
  const { error, hasMore, isPending, more, rows } = useList(
    "/api/v1/workflows",
    { status: "published" },
    { pageSize: 200 }
  )
  if (isPending) return <Loading what="the workflows" />
  const offered = rows.filter((one) => one.customerId === null || one.customerId === customerId)
  const put = (id: string, version: number | undefined) => {
    const after = new Map(chosen)
    if (version === undefined) after.delete(id)
    else after.set(id, version)
    choose(after)
  }
  return (
    <fieldset className="stack tight">
      <legend>Workflows</legend>
      <Problem error={error} />
      {offered.length === 0 && <p className="soft">No workflow is published.</p>}
      {offered.map((one) => (
        <div key={one.id} className="row">
          <Check checked={chosen.has(one.id)} onChange={(isOn) => put(one.id, isOn ? 0 : undefined)}>
            {one.name}
          </Check>
          {chosen.has(one.id) && (
            <VersionChoice
              workflow={one}
              value={chosen.get(one.id) ?? 0}
              onChange={(version) => put(one.id, version)}
            />
          )}
        </div>
      ))}
      {hasMore && (
        <div>
          <Button size="small" onClick={() => void more()}>
            Show more workflows
          </Button>
        </div>
      )}
    </fieldset>
  )
}

const VersionChoice = ({
  onChange,
  value,
  workflow: { id, name, publishedVersion }
}: {
  readonly workflow: Summary
  readonly value: number
  readonly onChange: (version: number) => void
}) => {
  const read = useRead("/api/v1/workflows/{wid}/versions", { params: { path: { wid: id } } })
  return (
    <Select
      label={`Version of ${name}`}
      none={`The published one, ${publishedVersion ?? "–"}`}
      value={value === 0 ? "" : String(value)}
      onChange={(version) => onChange(Number(version))}
      options={(read.data?.data ?? []).map(
        ({ notes, version }) =>
          [String(version), `${version}${notes === null ? "" : `: ${notes.slice(0, 40)}`}`] as const
      )}
    />
  )
}
