/** What the editor says of other texts than the one that it shows: an unsaved one, and those of other people. */
import { useState } from "react"
import type { ApiSchemas } from "../../api/Client.js"
import { Button } from "../../ui/Button.js"
import { Dialog } from "../../ui/Dialog.js"
import { Compare } from "../../ui/Editor.js"
import { Time } from "../../ui/Time.js"
import { draftText } from "./draftText.js"
import type { KeptText } from "./KeptTexts.js"

type Workflow = ApiSchemas["Workflow"]
type Language = "javascript" | "json"

/** A text that was typed here and never saved, for example since the tab was closed or the service was not reached. */
export const LostTextNotice = ({
  forget,
  isSame,
  language,
  lost,
  now,
  use
}: {
  readonly lost: KeptText
  readonly now: string
  readonly language: Language
  /** The draft is still the one that the text was made of. */
  readonly isSame: boolean
  readonly use: (text: string) => void
  readonly forget: () => void
}) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="notice warn stack tight">
      <p>
        Text of yours was not saved <Time at={lost.at} />.{" "}
        {isSame ? "The draft has not changed since." : "The draft has changed since: compare them first."}
      </p>
      <div className="row">
        {isSame && (
          <Button kind="main" needs="workflows:update" onClick={() => use(lost.text)}>
            Use it
          </Button>
        )}
        <Button onClick={() => setOpen(true)}>Compare</Button>
        <Button kind="danger" onClick={forget}>
          Throw it away
        </Button>
      </div>
      {isOpen && (
        <MergeDialog
          title="Your unsaved text and the draft"
          language={language}
          before={now}
          beforeLabel="The draft as it is"
          after={lost.text}
          afterLabel="Your unsaved text (may be edited)"
          verb="Use the text on the right"
          close={() => setOpen(false)}
          choose={use}
        />
      )}
    </div>
  )
}

/** Somebody else has changed the draft while it was typed here. */
export const ConflictNotice = ({
  language,
  mine,
  overwrite,
  take,
  theirs
}: {
  readonly mine: string
  readonly theirs: Workflow
  readonly language: Language
  readonly take: () => void
  readonly overwrite: (text: string) => void
}) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="notice bad stack tight" role="alert">
      <p>
        Somebody else has changed this draft <Time at={theirs.draft.updatedAt} />, while you were typing. Nothing of
        yours is lost, and nothing is saved until you choose. A text that is replaced stays among the earlier drafts.
      </p>
      <div className="row">
        <Button kind="main" onClick={() => setOpen(true)}>
          Merge both
        </Button>
        <Button onClick={() => overwrite(mine)}>Keep mine</Button>
        <Button onClick={take}>Take theirs</Button>
      </div>
      {isOpen && (
        <MergeDialog
          title="Merge both texts"
          language={language}
          before={draftText(theirs)}
          beforeLabel="Theirs"
          after={mine}
          afterLabel="Mine (may be edited)"
          verb="Save the text on the right"
          close={() => setOpen(false)}
          choose={overwrite}
        />
      )}
    </div>
  )
}

/** Somebody else has saved a draft while nothing was typed here. */
export const NewerNotice = ({ newer, show }: { readonly newer: Workflow; readonly show: () => void }) => (
  <div className="notice row" role="status">
    <p>
      Somebody else has saved another draft <Time at={newer.draft.updatedAt} />.
    </p>
    <Button onClick={show}>Show it</Button>
  </div>
)

const MergeDialog = ({
  choose,
  close,
  title,
  verb,
  ...texts
}: {
  readonly title: string
  readonly verb: string
  readonly language: Language
  readonly before: string
  readonly after: string
  readonly beforeLabel: string
  readonly afterLabel: string
  readonly close: () => void
  readonly choose: (text: string) => void
}) => {
  // The texts stay as they were when the dialog was opened.
  const [shown] = useState(texts)
  const [text, setText] = useState(texts.after)
  return (
    <Dialog title={title} isOpen isWide close={close}>
      <p className="soft">The arrows between the texts take over a part of the left one.</p>
      <Compare {...shown} onChange={setText} />
      <div className="row">
        <Button
          kind="main"
          onClick={() => {
            close()
            choose(text)
          }}
        >
          {verb}
        </Button>
        <Button onClick={close}>Cancel</Button>
      </div>
    </Dialog>
  )
}
