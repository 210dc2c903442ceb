/** Publishes the draft, with what differs from the published version; or an earlier version again. */
import { useState } from "react"
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { CopyText } from "../../ui/CopyText.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { Compare } from "../../ui/Editor.js"
import { TextArea } from "../../ui/Field.js"
import { Facts } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import type { OpenDraft } from "./useDraft.js"
import { GenerationNotice } from "./OrderNotice.js"
import { PublishedDiff } from "./PublishedDiff.js"
import { usePublished, useVersionText } from "./versionText.js"

const changes = ["/api/v1/workflows", "/api/v1/workflows/{wid}", "/api/v1/triggers"] as const

const usePublish = (wid: string, body: { readonly notes?: string; readonly version?: number }) =>
  useChange(
    async () => {
      const { data } = await bodyOf(client.POST("/api/v1/workflows/{wid}/publish", { params: { path: { wid } }, body }))
      return data
    },
    { changes }
  )

export const PublishDialog = ({ close, draft }: { readonly draft: OpenDraft; readonly close: () => void }) => {
  const { status, workflow } = draft
  const [notes, setNotes] = useState("")
  const [result, setResult] = useState<ApiSchemas["Published"]>()
  const publish = usePublish(workflow.id, notes === "" ? {} : { notes })
  const before = usePublished(workflow)
  if (result !== undefined) return <Published published={result} close={close} />
  const isSaved = status.kind === "saved"
  const problems = workflow.problems.length
  return (
    <FormDialog
      title={`Publish “${workflow.name}”`}
      verb="Publish"
      isOpen
      isWide
      close={close}
      send={() => publish.run(undefined, { onSuccess: setResult })}
      isRunning={publish.isRunning}
      isReady={isSaved && problems === 0}
      error={publish.error}
    >
      {!isSaved && <p className="notice warn">The draft is not saved yet: publishing takes what is saved.</p>}
      {problems > 0 && (
        <p className="notice bad">
          The draft has {problems} {problems === 1 ? "problem" : "problems"}, which the editor lists. It is not
          published before they are solved.
        </p>
      )}
      {workflow.publishedVersion === null ? (
        <p>This becomes version 1, which runs from then on.</p>
      ) : (
        <Loaded of={before} what="the published version">
          {(published) => <PublishedDiff workflow={workflow} published={published} />}
        </Loaded>
      )}
      <GenerationNotice workflow={workflow} />
      <TextArea
        label="Notes (optional)"
        rows={3}
        value={notes}
        onChange={setNotes}
        hint="What has changed, for the list of versions."
        wrong={publish.error?.detailOf("notes")}
      />
    </FormDialog>
  )
}

/** Publishes a version again. */
export const RollbackDialog = ({
  close,
  draft: { workflow },
  version
}: {
  readonly draft: OpenDraft
  readonly version: number
  readonly close: () => void
}) => {
  const [result, setResult] = useState<ApiSchemas["Published"]>()
  const publish = usePublish(workflow.id, { version })
  const now = useVersionText(workflow, workflow.publishedVersion ?? undefined)
  const then = useVersionText(workflow, version)
  if (result !== undefined) return <Published published={result} close={close} />
  return (
    <FormDialog
      title={`Publish version ${version} again`}
      verb={`Publish version ${version}`}
      isOpen
      isWide
      close={close}
      send={() => publish.run(undefined, { onSuccess: setResult })}
      isRunning={publish.isRunning}
      error={publish.error}
    >
      <p>New runs use version {version} from then on. The draft stays as it is.</p>
      {now.data !== undefined && then.data !== undefined && (
        <Compare
          language={workflow.form === "code" ? "javascript" : "json"}
          before={now.data}
          beforeLabel={`Version ${workflow.publishedVersion}, published now`}
          after={then.data}
          afterLabel={`Version ${version}`}
        />
      )}
    </FormDialog>
  )
}

const Published = ({
  close,
  published: { created, createdTrigger, deployedTo, version, warnings }
}: {
  readonly published: ApiSchemas["Published"]
  readonly close: () => void
}) => (
  <Dialog title={`Version ${version} is published`} isOpen close={close}>
    <p>
      {deployedTo.length === 0
        ? "It is deployed nowhere yet: a release does that."
        : `Runs in ${deployedTo.join(", ")} use it.`}
      {!created && " No new version was made: this one has the same content."}
    </p>
    {warnings.map(({ message, path }) => (
      <p key={path} className="notice warn">
        <code>{path}</code>: {message}
      </p>
    ))}
    {createdTrigger !== null && (
      <div className="notice good stack tight">
        <p>
          Its trigger is created: <Link href={`/triggers/${createdTrigger.id}`}>{createdTrigger.id}</Link>
          {createdTrigger.accessKey !== null && ". Its access key is shown this once."}
        </p>
        <Facts
          facts={[
            ...(createdTrigger.url === null
              ? []
              : [["Address", <CopyText key="url" text={createdTrigger.url} />] as const]),
            ...(createdTrigger.accessKey === null
              ? []
              : [["Access key", <CopyText key="key" text={createdTrigger.accessKey} />] as const])
          ]}
        />
      </div>
    )}
    <div className="row">
      <Button kind="main" onClick={close}>
        Done
      </Button>
    </div>
  </Dialog>
)
