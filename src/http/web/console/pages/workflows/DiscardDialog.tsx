/** Discards the draft: the text becomes that of the published version. */
import { Confirm } from "../../ui/Dialog.js"
import { Compare } from "../../ui/Editor.js"
import { Loaded } from "../../ui/States.js"
import { useToast } from "../../ui/Toasts.js"
import type { OpenDraft } from "./useDraft.js"
import { draftText } from "./draftText.js"
import { useVersionText } from "./versionText.js"

export const DiscardDialog = ({ close, draft }: { readonly draft: OpenDraft; readonly close: () => void }) => {
  const { autosave, workflow } = draft
  const published = useVersionText(workflow, workflow.publishedVersion ?? undefined)
  const tell = useToast()
  return (
    <Confirm
      title="Discard the draft?"
      verb="Discard the draft"
      isOpen
      isWide
      close={close}
      isRunning={false}
      error={null}
      send={() => {
        if (published.data === undefined) return
        autosave.replace(published.data)
        autosave.flush()
        close()
        tell(`The draft is version ${workflow.publishedVersion} again.`)
      }}
    >
      <p>
        The text becomes that of the published version {workflow.publishedVersion}. Contracts and settings stay as they
        are; the discarded text stays among the earlier drafts, and the editor can undo this.
      </p>
      <Loaded of={published} what="the published version">
        {(text) => (
          <Compare
            language={workflow.form === "code" ? "javascript" : "json"}
            before={draftText(workflow)}
            beforeLabel="The draft"
            after={text}
            afterLabel={`Version ${workflow.publishedVersion}`}
          />
        )}
      </Loaded>
    </Confirm>
  )
}
