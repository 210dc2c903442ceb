/** What differs between two published versions: text, contracts and steps. */
import { useState } from "react"
import type { ApiSchemas } from "../../api/Client.js"
import { useRead } from "../../api/Reads.js"
import { Compare } from "../../ui/Editor.js"
import { Select } from "../../ui/Field.js"
import { Card, Facts } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { useVersionText } from "./versionText.js"

type Workflow = ApiSchemas["Workflow"]

export const CompareVersions = ({ workflow }: { readonly workflow: Workflow }) => {
  const [newest, next] = workflow.versions
  const [from, setFrom] = useState(next?.version ?? 1)
  const [to, setTo] = useState(newest?.version ?? 1)
  const options = workflow.versions.map(({ version }) => [String(version), `Version ${version}`] as const)
  const diff = useRead("/api/v1/workflows/{wid}/versions/{a}/diff/{b}", {
    params: { path: { wid: workflow.id, a: from, b: to } }
  })
  const before = useVersionText(workflow, from)
  const after = useVersionText(workflow, to)
  return (
    <Card title="Compare versions">
      <div className="stack">
        <div className="row filters">
          <Select label="From" value={String(from)} onChange={(value) => setFrom(Number(value))} options={options} />
          <Select label="To" value={String(to)} onChange={(value) => setTo(Number(value))} options={options} />
        </div>
        <Loaded of={diff} what="the difference">
          {({ data: { code, contracts, steps } }) => (
            <Facts
              facts={[
                ["Lines added", code.filter(({ op }) => op === "added").length],
                ["Lines removed", code.filter(({ op }) => op === "removed").length],
                ...(steps === undefined
                  ? []
                  : ([
                      ["Steps added", steps.added.join(", ") || "none"],
                      ["Steps removed", steps.removed.join(", ") || "none"],
                      ["Steps changed", steps.changed.join(", ") || "none"]
                    ] as const)),
                [
                  "Contracts changed",
                  contracts.length === 0 ? (
                    "none"
                  ) : (
                    <ul key="contracts">
                      {contracts.map(({ after: now, before: then, path }) => (
                        <li key={path}>
                          <code>{path}</code>: {JSON.stringify(then)} → {JSON.stringify(now)}
                        </li>
                      ))}
                    </ul>
                  )
                ]
              ]}
            />
          )}
        </Loaded>
        {before.data !== undefined && after.data !== undefined && (
          <Compare
            language={workflow.form === "code" ? "javascript" : "json"}
            before={before.data}
            beforeLabel={`Version ${from}`}
            after={after.data}
            afterLabel={`Version ${to}`}
          />
        )}
      </div>
    </Card>
  )
}
