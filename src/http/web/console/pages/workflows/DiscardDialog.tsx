/** Discards the draft: text and contracts become those of the published version. */
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Confirm } from "../../ui/Dialog.js"
import { Loaded } from "../../ui/States.js"
import { useToast } from "../../ui/Toasts.js"
import { PublishedDiff } from "./PublishedDiff.js"
import type { OpenDraft } from "./useDraft.js"
import { usePublished } from "./versionText.js"

type Content = NonNullable<ApiSchemas["Workflow"]["published"]>

/** What saves the content of a version as the draft. */
const bodyOfContent = ({ code, inputContract, outputContract, spec }: Content) => ({
  ...(code === null ? { spec: spec as Record<string, never> } : { code }),
  inputContract,
  outputContract
})

export const DiscardDialog = ({ close, draft }: { readonly draft: OpenDraft; readonly close: () => void }) => {
  const { autosave, workflow } = draft
  const read = usePublished(workflow)
  const published = read.data
  const tell = useToast()
  const discard = useChange(
    async (content: Content) => {
      const saved = await autosave.change(async (version) => {
        const { data } = await bodyOf(
          client.PUT("/api/v1/workflows/{wid}", {
            params: {
              path: { wid: workflow.id },
              query: { incomplete: "true" },
              header: { "If-Match": `"${version}"` }
            },
            body: bodyOfContent(content)
          })
        )
        return data
      })
      autosave.take(saved)
    },
    {
      changes: ["/api/v1/workflows/{wid}/drafts"],
      done: () => {
        close()
        tell(`The draft is version ${workflow.publishedVersion} again.`)
      }
    }
  )
  return (
    <Confirm
      title="Discard the draft?"
      verb="Discard the draft"
      isOpen
      isWide
      close={close}
      isRunning={discard.isRunning || published === undefined}
      error={discard.error}
      send={() => {
        if (published !== undefined) discard.run(published)
      }}
    >
      <p>
        Text and contracts become those of the published version {workflow.publishedVersion}. Settings stay as they are.
        The editor can undo this.
      </p>
      <Loaded of={read} what="the published version">
        {(content) => <PublishedDiff workflow={workflow} published={content} isDiscarding />}
      </Loaded>
    </Confirm>
  )
}
