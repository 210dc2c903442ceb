/** The workflow as a picture and as a list; for a run, with what it did. */
import { useState } from "react"
import { Link } from "wouter"
import type { ApiSchemas } from "../../api/Client.js"
import { useList, useRead } from "../../api/Reads.js"
import { useMay } from "../../api/Session.js"
import { Badge } from "../../ui/Badge.js"
import { Select } from "../../ui/Field.js"
import { Card } from "../../ui/Page.js"
import { Empty, Loaded } from "../../ui/States.js"
import { useOwnImage } from "../../ui/OwnImage.js"

type Workflow = ApiSchemas["Workflow"]

interface DiagramNode {
  readonly id: string
  readonly kind: string
  readonly label: string
}
interface DiagramEdge {
  readonly from: string
  readonly to: string
  readonly label?: string
}

export const DiagramTab = ({ workflow }: { readonly workflow: Workflow }) => {
  const [version, setVersion] = useState("")
  const [run, setRun] = useState("")
  const runs = useList(
    "/api/v1/executions",
    { workflow_id: workflow.id },
    { pageSize: 30, enabled: useMay("executions:read") }
  )
  const id = encodeURIComponent(workflow.id)
  const source =
    run === ""
      ? `/api/v1/workflows/${id}/diagram.svg${version === "" ? "" : `?version=${version}`}`
      : `/api/v1/executions/${encodeURIComponent(run)}/diagram.svg`
  const image = useOwnImage(source, `${workflow.draft.contentHash} ${version} ${run}`)
  return (
    <div className="stack">
      <div className="row filters">
        <Select
          label="Version"
          none="The draft"
          value={version}
          disabled={run !== ""}
          onChange={setVersion}
          options={workflow.versions.map(({ version: number }) => [String(number), `Version ${number}`] as const)}
        />
        <Select
          label="With what a run did"
          none="No run"
          value={run}
          onChange={setRun}
          options={runs.rows.map(
            (one) =>
              [
                one.id,
                `${new Date(one.createdAt).toLocaleString()}, ${one.status}, ${
                  one.workflowVersion === null ? "draft" : `version ${one.workflowVersion}`
                }`
              ] as const
          )}
        />
        {run !== "" && <Link href={`/runs/${run}`}>Open the run</Link>}
      </div>
      <Card title="Diagram">
        <Loaded of={image} what="the diagram">
          {(picture) => (
            <img className="diagram" alt={`Diagram of ${workflow.name}. The same as a list is below.`} src={picture} />
          )}
        </Loaded>
      </Card>
      {run === "" ? version === "" && <DraftList workflow={workflow} /> : <RunList eid={run} />}
    </div>
  )
}

const DraftList = ({ workflow }: { readonly workflow: Workflow }) => {
  const read = useRead("/api/v1/workflows/{wid}", {
    params: { path: { wid: workflow.id }, query: { include: "diagram" } }
  })
  return (
    <Card title="The same as a list">
      <Loaded of={read} what="the list">
        {({ data }) => {
          const { edges = [], nodes = [] } = (data.diagram ?? {}) as {
            readonly nodes?: ReadonlyArray<DiagramNode>
            readonly edges?: ReadonlyArray<DiagramEdge>
          }
          const nameOf = new Map(nodes.map((node) => [node.id, node.label]))
          return nodes.length === 0 ? (
            <p className="soft">Nothing is drawn: the draft makes no calls.</p>
          ) : (
            <ol className="stack tight numbered">
              {nodes.map(({ id, kind, label }) => {
                const next = edges.filter(({ from }) => from === id)
                return (
                  <li key={id}>
                    <strong>{label}</strong> <span className="soft">{kind}</span>
                    {next.length > 0 && (
                      <span className="soft">
                        {" "}
                        →{" "}
                        {next
                          .map((edge) => `${nameOf.get(edge.to) ?? edge.to}${edge.label ? ` (${edge.label})` : ""}`)
                          .join(", ")}
                      </span>
                    )}
                  </li>
                )
              })}
            </ol>
          )
        }}
      </Loaded>
    </Card>
  )
}

const RunList = ({ eid }: { readonly eid: string }) => {
  const read = useRead("/api/v1/executions/{eid}", { params: { path: { eid } } })
  return (
    <Card title="What the run did">
      <Loaded of={read} what="the run">
        {({ data }) => {
          const steps = data.steps as ReadonlyArray<{
            readonly name: string
            readonly path?: string
            readonly status: string
            readonly index: number
          }>
          return steps.length === 0 ? (
            <Empty title="The run made no steps" />
          ) : (
            <ol className="stack tight numbered">
              {steps.slice(0, 200).map(({ index, name, path, status }) => (
                <li key={index}>
                  {path ?? name} <Badge word={status} />
                </li>
              ))}
            </ol>
          )
        }}
      </Loaded>
    </Card>
  )
}
