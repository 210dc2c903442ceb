/** Edits the draft: status of the autosave, problems, and what to do about other texts than the one that is shown. */
import { useQuery } from "@tanstack/react-query"
import { useEffect, useMemo, useState } from "react"
import { type ApiSchemas, bodyOf, client, ownHeaders } from "../../api/Client.js"
import { useMay, useMe } from "../../api/Session.js"
import type { EditorKnowledge, JsonSchema, CompletedConnector, TextProblem } from "../../editor/Knowledge.js"
import { recordConnectors } from "../../editor/Records.js"
import { Button } from "../../ui/Button.js"
import { Editor } from "../../ui/Editor.js"
import { Problem } from "../../ui/States.js"
import { Time } from "../../ui/Time.js"
import { isTextOf } from "./draftText.js"
import { ConflictNotice, LostTextNotice, NewerNotice } from "./DraftNotices.js"
import { forgetText, type KeptText, lostTexts } from "./KeptTexts.js"
import { isOfOrder, OrderNotice, warningsOf } from "./OrderNotice.js"
import type { OpenDraft } from "./useDraft.js"

type Workflow = ApiSchemas["Workflow"]

/** What is known is read once for an editor: it changes seldom, and is large. */
const rarely = { staleTime: 600_000, refetchOnWindowFocus: false } as const

const useKnowledge = ({ form, inputContract }: Workflow): EditorKnowledge => {
  const connectors = useQuery({
    queryKey: ["editor", "connectors"],
    queryFn: async () =>
      (await bodyOf(client.GET("/api/v1/connectors", { params: { query: { include: "actions", page_size: 200 } } })))
        .data as unknown as ReadonlyArray<CompletedConnector>,
    enabled: useMay("connectors:read"),
    ...rarely
  })
  const schema = useQuery({
    queryKey: ["editor", "flow schema"],
    queryFn: async ({ signal }) =>
      (await (await fetch("/api/v1/flow.schema.json", { headers: ownHeaders(), signal })).json()) as JsonSchema,
    enabled: form === "steps",
    ...rarely
  })
  return useMemo(
    () => ({
      connectors: form === "steps" ? [...(connectors.data ?? []), ...recordConnectors] : connectors.data,
      schema: schema.data,
      input: (inputContract as JsonSchema | null) ?? undefined
    }),
    [connectors.data, schema.data, inputContract, form]
  )
}

/** Paths as the editor's text has them. */
const inText = (path: string): string => path.replace(/^spec\.?/, "")

const problemsOf = ({ status, workflow }: OpenDraft): ReadonlyArray<TextProblem> => {
  const found = status.kind === "refused" ? status.error.details : workflow.problems
  const warnings = warningsOf(workflow).filter((warning) => !isOfOrder(warning))
  return [
    ...found.map(({ column, line, message, path }) => ({
      message: messageOf(path, message),
      path: inText(path),
      line,
      column
    })),
    ...warnings.map((warning) => ({ ...warning, path: inText(warning.path ?? ""), severity: "warning" as const }))
  ]
}

/** The message of a syntax error has its place, which the list shows, too. */
const messageOf = (path: string, message: string): string =>
  path.startsWith("spec") ? `${inText(path)}: ${message}` : message.replace(/^line \d+, column \d+: /, "")

export const EditorTab = ({
  draft,
  readOnly
}: {
  readonly draft: OpenDraft
  readonly readOnly: string | undefined
}) => {
  const { autosave, newer, revision, status, text, workflow } = draft
  const me = useMe()
  const [lost, setLost] = useState<ReadonlyArray<KeptText>>([])
  useEffect(() => {
    void lostTexts(`${me.organisation.id}.${me.id}`, workflow.id).then((found) => {
      // What the service has was saved as its tab was closed.
      const [saved, unsaved] = [true, false].map((isSaved) =>
        found.filter((one) => isTextOf(one.text, autosave.snapshot().workflow) === isSaved)
      )
      saved?.forEach(forgetText)
      setLost(unsaved ?? [])
    })
  }, [autosave, me.id, me.organisation.id, workflow.id])
  const forget = (one: KeptText) => {
    forgetText(one)
    setLost((before) => before.filter(({ key }) => key !== one.key))
  }
  const knowledge = useKnowledge(workflow)
  const problems = useMemo(() => problemsOf(draft), [status, workflow.problems, workflow.warnings])
  const language = workflow.form === "code" ? "javascript" : "json"
  return (
    <div className="stack">
      {readOnly !== undefined && <p className="notice">{readOnly}</p>}
      {lost.map((one) => (
        <LostTextNotice
          key={one.key}
          lost={one}
          now={text}
          language={language}
          isSame={one.hash === workflow.draft.contentHash}
          use={(chosen) => {
            autosave.replace(chosen)
            forget(one)
          }}
          forget={() => forget(one)}
        />
      ))}
      {status.kind === "conflict" && (
        <ConflictNotice
          mine={text}
          theirs={status.theirs}
          language={language}
          take={() => autosave.take(status.theirs)}
          overwrite={(chosen) => autosave.overwrite(status.theirs, chosen)}
        />
      )}
      {newer !== undefined && <NewerNotice newer={newer} show={() => autosave.take(newer)} />}
      <OrderNotice workflow={workflow} use={(chosen) => autosave.replace(chosen)} />
      <SaveStatus draft={draft} />
      <Editor
        label={workflow.form === "code" ? `Code of ${workflow.name}` : `Steps of ${workflow.name}, as JSON`}
        language={language}
        value={text}
        revision={revision}
        isReadOnly={readOnly !== undefined}
        onChange={(typed) => autosave.type(typed)}
        onSave={() => autosave.flush()}
        problems={problems}
        knowledge={knowledge}
      />
    </div>
  )
}

const SaveStatus = ({ draft: { autosave, isKept, status, workflow } }: { readonly draft: OpenDraft }) => (
  <div className="stack tight">
    <p role="status" className="row">
      {status.kind === "saved" && (
        <span className="soft">
          Draft saved <Time at={workflow.draft.updatedAt} />
        </span>
      )}
      {status.kind === "changed" && <span className="soft">Changed, not saved yet</span>}
      {status.kind === "saving" && <span className="soft">Saving …</span>}
      {status.kind === "unreadable" && <span>Not saved. {status.message} The browser keeps the text.</span>}
      {status.kind === "refused" && <span>Not saved: the service refuses this text. The browser keeps it.</span>}
      {status.kind === "conflict" && <span>Not saved: somebody else has changed the draft.</span>}
      {status.kind === "retrying" && (
        <span>
          {status.error.status === 401
            ? "Not saved: you are signed out. Sign in in another tab, and it goes on here."
            : `Not saved, tried again soon: ${status.error.message}`}{" "}
          The browser keeps the text.
        </span>
      )}
      {(status.kind === "changed" || status.kind === "retrying") && (
        <Button size="small" onClick={() => autosave.flush()}>
          Save now
        </Button>
      )}
      {!isKept && (
        <strong>This browser has no space to keep the text: do not close the page before it is saved.</strong>
      )}
    </p>
    {status.kind === "refused" && status.error.details.every(({ path }) => path === "") && (
      <Problem error={status.error} />
    )}
  </div>
)
