/** Published versions, where they are deployed, earlier drafts, and the triggers that start the workflow. */
import { useState } from "react"
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { Card } from "../../ui/Page.js"
import { Empty, Loaded, Problem } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { CompareVersions } from "./CompareVersions.js"
import { RollbackDialog } from "./PublishDialog.js"
import { presentGeneration } from "../../../../../domain/flow/Generation.js"
import type { OpenDraft } from "./useDraft.js"

type Version = ApiSchemas["WorkflowVersion"]

export const VersionsTab = ({ draft }: { readonly draft: OpenDraft }) => {
  const { workflow } = draft
  const [again, publishAgain] = useState<number>()
  const read = useRead("/api/v1/workflows/{wid}/versions", { params: { path: { wid: workflow.id } } })
  return (
    <div className="stack">
      <Card title="Published versions" flush>
        <Loaded of={read} what="the versions">
          {({ data }) =>
            data.length === 0 ? (
              <Empty title="Nothing is published yet">Publishing freezes the draft as version 1.</Empty>
            ) : (
              <Table<Version>
                label="Published versions"
                rows={data}
                keyOf={({ version }) => String(version)}
                columns={[
                  {
                    name: "Version",
                    of: ({ generation, version }) => (
                      <>
                        {version} {version === workflow.publishedVersion && <Badge word="published" />}{" "}
                        {generation !== null && generation < presentGeneration && (
                          <Badge word="earlier generation" tone="warn" />
                        )}
                      </>
                    )
                  },
                  {
                    name: "Deployed in",
                    of: ({ version }) =>
                      workflow.deployments
                        .filter((one) => one.version === version)
                        .map(({ environment }) => environment)
                        .join(", ") || "–"
                  },
                  { name: "Published", of: ({ publishedAt }) => <Time at={publishedAt} /> },
                  { name: "By", of: ({ publishedBy }) => <code>{publishedBy}</code> },
                  { name: "Notes", of: ({ notes }) => notes ?? "–" },
                  {
                    name: "Actions",
                    isUnnamed: true,
                    of: ({ version }) =>
                      version === workflow.publishedVersion && workflow.status === "published" ? null : (
                        <Button size="small" needs="workflows:update" onClick={() => publishAgain(version)}>
                          Publish again …
                        </Button>
                      )
                  }
                ]}
              />
            )
          }
        </Loaded>
      </Card>
      {workflow.versions.length > 1 && <CompareVersions workflow={workflow} />}
      <Deployments draft={draft} />
      <Triggers wid={workflow.id} />
      <EarlierDrafts draft={draft} />
      {again !== undefined && <RollbackDialog draft={draft} version={again} close={() => publishAgain(undefined)} />}
    </div>
  )
}

const Deployments = ({ draft: { workflow } }: { readonly draft: OpenDraft }) => (
  <Card title="Deployments" flush actions={<Link href="/releases">Releases</Link>}>
    {workflow.deployments.length === 0 ? (
      <Empty title="Deployed nowhere">Publishing deploys to live, unless that environment is set otherwise.</Empty>
    ) : (
      <Table
        label="Deployments"
        rows={workflow.deployments}
        keyOf={({ customerId, environment }) => `${environment} ${customerId ?? ""}`}
        columns={[
          { name: "Environment", of: ({ environment }) => environment },
          { name: "Version", of: ({ version }) => version },
          {
            name: "Customer",
            of: ({ customerId }) =>
              customerId === null ? "all" : <Link href={`/customers/${customerId}`}>{customerId}</Link>
          },
          { name: "Deployed", of: ({ deployedAt }) => <Time at={deployedAt} /> }
        ]}
      />
    )}
  </Card>
)

const Triggers = ({ wid }: { readonly wid: string }) => {
  const read = useRead("/api/v1/workflows/{wid}", { params: { path: { wid }, query: { include: "triggers" } } })
  return (
    <Card title="Triggers" flush actions={<Link href={`/triggers/new?workflow=${wid}`}>Create a trigger</Link>}>
      <Loaded of={read} what="the triggers">
        {({ data: { triggers = [] } }) =>
          triggers.length === 0 ? (
            <Empty title="No trigger starts it">Calls of the API do, and a trigger whose route leads to it.</Empty>
          ) : (
            <Table
              label="Triggers"
              rows={triggers}
              keyOf={({ id }) => id}
              columns={[
                { name: "Name", of: ({ id, name }) => <Link href={`/triggers/${id}`}>{name}</Link> },
                { name: "Type", of: ({ type }) => type.replaceAll("_", " ") },
                { name: "Status", of: ({ status }) => <Badge word={status} /> }
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}

const EarlierDrafts = ({ draft: { autosave, workflow } }: { readonly draft: OpenDraft }) => {
  const read = useRead("/api/v1/workflows/{wid}/drafts", {
    params: { path: { wid: workflow.id }, query: { page_size: 50 } }
  })
  const tell = useToast()
  const restore = useChange(
    (n: number) =>
      autosave.change(async (version) => {
        const { data } = await bodyOf(
          client.POST("/api/v1/workflows/{wid}/drafts/{n}/restore", {
            params: { path: { wid: workflow.id, n } },
            body: { version }
          })
        )
        return data
      }),
    { changes: ["/api/v1/workflows/{wid}/drafts"], done: () => tell("The earlier draft is restored.") }
  )
  return (
    <Card title="Earlier drafts" flush>
      <Problem error={restore.error} />
      <Loaded of={read} what="the earlier drafts">
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No earlier drafts">
              The last state of each author and five minutes is kept, and whatever another author overwrote.
            </Empty>
          ) : (
            <Table
              label="Earlier drafts"
              rows={data}
              keyOf={({ number }) => String(number)}
              columns={[
                { name: "Saved", of: ({ savedAt }) => <Time at={savedAt} isExact /> },
                { name: "By", of: ({ savedBy }) => <code>{savedBy}</code> },
                { name: "Replaced by", of: ({ replacedBy }) => <code>{replacedBy}</code> },
                { name: "Problems", isNumber: true, of: ({ problemCount }) => problemCount },
                {
                  name: "Actions",
                  isUnnamed: true,
                  of: ({ number }) => (
                    <Button
                      size="small"
                      needs="workflows:update"
                      isRunning={restore.isRunning}
                      onClick={() => restore.run(number)}
                    >
                      Restore
                    </Button>
                  )
                }
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  )
}
