/** One workflow: its text, tests, contracts, settings, diagram and versions. */
import { useState } from "react"
import { useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useRead, useRemoval } from "../../api/Reads.js"
import { useMay, useMe } from "../../api/Session.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm } from "../../ui/Dialog.js"
import { Menu } from "../../ui/Menu.js"
import { Page } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Tabs } from "../../ui/Tabs.js"
import { useToast } from "../../ui/Toasts.js"
import { Contracts } from "./Contracts.js"
import { DiagramTab } from "./DiagramTab.js"
import { DiscardDialog } from "./DiscardDialog.js"
import { EditorTab } from "./EditorTab.js"
import { ExportDialog } from "./ExportDialog.js"
import { PublishDialog } from "./PublishDialog.js"
import { TestTab } from "./TestTab.js"
import { useDraft, workflowRead } from "./useDraft.js"
import { VersionsTab } from "./VersionsTab.js"
import { WorkflowSettings } from "./WorkflowSettings.js"

type Record = ApiSchemas["Workflow"]

const above = [{ name: "Workflows", to: "/workflows" }]

export const Workflow = () => {
  const { wf: wid = "" } = useParams()
  const read = useRead("/api/v1/workflows/{wid}", workflowRead(wid))
  if (read.data === undefined)
    return (
      <Page title="Workflow" above={above}>
        <Loaded of={read} what="the workflow">
          {() => null}
        </Loaded>
      </Page>
    )
  return <OpenWorkflow key={wid} workflow={read.data.data} />
}

/** Why the text cannot be edited; absent: it can. */
const useReadOnlyReason = (form: Record["form"]): string | undefined => {
  const isAllowed = useMay("workflows:update")
  const mayEditCode = useMe().organisation.codeEditing
  if (!isAllowed) return "Editing needs the permission workflows:update."
  if (form === "code" && !mayEditCode)
    return "Code editing is disabled for this organisation (its setting codeEditing). The organisation above it can allow it; workflows in steps without code can be edited."
  return undefined
}

const OpenWorkflow = ({ workflow: read }: { readonly workflow: Record }) => {
  const draft = useDraft(read)
  const { workflow } = draft
  const readOnly = useReadOnlyReason(workflow.form)
  const [shown, show] = useState<"publish" | "discard" | "export" | "archive" | "delete" | undefined>()
  const close = () => show(undefined)
  const isChanged = workflow.versions[0]?.contentHash !== workflow.draft.contentHash
  return (
    <Page
      title={workflow.name}
      above={above}

      beside={
        <>
          <Badge word={workflow.status} />
          {workflow.publishedVersion !== null && <span className="soft">version {workflow.publishedVersion}</span>}
          {isChanged && workflow.publishedVersion !== null && <Badge word="draft differs" tone="warn" />}
          {!workflow.enabled && <Badge word="disabled" tone="warn" />}
        </>
      }
      actions={
        <>
          <Button kind="main" needs="workflows:update" onClick={() => show("publish")}>
            Publish …
          </Button>
          <Menu
            label="More"
            items={[
              ...(workflow.publishedVersion === null
                ? []
                : [{ name: "Discard the draft …", needs: "workflows:update", run: () => show("discard") }]),
              { name: "Export …", needs: "workflows:read", run: () => show("export") },
              { name: "Archive …", needs: "workflows:update", run: () => show("archive") },
              { name: "Delete …", needs: "workflows:delete", run: () => show("delete") }
            ]}
          />
        </>
      }
    >
      <p className="row soft">
        <CopyText text={workflow.id} /> {workflow.form}, {workflow.tier}
        {workflow.description !== "" && <>: {workflow.description}</>}
      </p>
      <Tabs
        label="Parts of the workflow"
        tabs={[
          { id: "editor", name: "Editor", of: () => <EditorTab draft={draft} readOnly={readOnly} /> },
          { id: "test", name: "Test", of: () => <TestTab draft={draft} /> },
          { id: "contracts", name: "Contracts", of: () => <Contracts draft={draft} /> },
          { id: "settings", name: "Settings", of: () => <WorkflowSettings draft={draft} /> },
          { id: "diagram", name: "Diagram", of: () => <DiagramTab workflow={workflow} /> },
          { id: "versions", name: "Versions", of: () => <VersionsTab draft={draft} /> }
        ]}
      />
      {shown === "publish" && <PublishDialog draft={draft} close={close} />}
      {shown === "discard" && <DiscardDialog draft={draft} close={close} />}
      {shown === "export" && <ExportDialog workflow={workflow} close={close} />}
      {shown === "archive" && <ArchiveDialog workflow={workflow} close={close} />}
      {shown === "delete" && <DeleteDialog workflow={workflow} close={close} />}
    </Page>
  )
}

interface AboutOne {
  readonly workflow: Record
  readonly close: () => void
}

const ArchiveDialog = ({ close, workflow: { id, name } }: AboutOne) => {
  const tell = useToast()
  const archive = useChange(
    () => bodyOf(client.POST("/api/v1/workflows/{wid}/archive", { params: { path: { wid: id } } })),
    {
      changes: ["/api/v1/workflows", "/api/v1/workflows/{wid}"],
      done: () => {
        close()
        tell("The workflow is archived.")
      }
    }
  )
  return (
    <Confirm
      title={`Archive “${name}”?`}
      verb="Archive"
      isOpen
      close={close}
      send={() => archive.run()}
      isRunning={archive.isRunning}
      error={archive.error}
    >
      <p>It cannot run, and its triggers start nothing, until it is published again. Runs that go on end as usual.</p>
    </Confirm>
  )
}

const DeleteDialog = ({ close, workflow: { id, name } }: AboutOne) => {
  const remove = useRemoval(() => bodyOf(client.DELETE("/api/v1/workflows/{wid}", { params: { path: { wid: id } } })), {
    list: "/api/v1/workflows",
    to: "/workflows"
  })
  return (
    <Confirm
      title={`Delete “${name}”?`}
      verb="Delete"
      typed={name}
      isOpen
      close={close}
      send={() => remove.run()}
      isRunning={remove.isRunning}
      error={remove.error}
    >
      <p>Its versions, drafts and deployments are deleted. Records of its runs stay as long as the plan keeps them.</p>
    </Confirm>
  )
}
