/** Dialogs, and the question before what cannot be undone. */
import * as Ariakit from "@ariakit/react"
import { type ReactNode, useState } from "react"
import type { ApiError } from "../api/Client.js"
import { Button } from "./Button.js"
import { TextField } from "./Field.js"
import { Problem } from "./States.js"

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly close: () => void
  readonly isWide?: boolean
  readonly children: ReactNode
}

export const Dialog = ({ children, close, isOpen, isWide = false, title }: DialogProps) => (
  <Ariakit.Dialog
    open={isOpen}
    onClose={close}
    className={isWide ? "dialog wide" : "dialog"}
    backdrop={<div className="backdrop" />}
    unmountOnHide
  >
    <div className="row apart">
      <Ariakit.DialogHeading render={<h2 />}>{title}</Ariakit.DialogHeading>
      <Ariakit.DialogDismiss className="button plain" aria-label="Close">
        Close
      </Ariakit.DialogDismiss>
    </div>
    {children}
  </Ariakit.Dialog>
)

/** A dialog with a form: `send` is called as it is submitted. */
export const FormDialog = ({
  children,
  error,
  isReady = true,
  isRunning,
  kind = "main",
  send,
  verb,
  ...dialog
}: DialogProps & {
  readonly verb: string
  readonly send: () => void
  readonly isRunning: boolean
  readonly isReady?: boolean
  readonly kind?: "main" | "danger"
  readonly error: ApiError | null
}) => (
  <Dialog {...dialog}>
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady && !isRunning) send()
      }}
    >
      {children}
      <Problem error={error} />
      <div className="row">
        <Button type="submit" kind={kind} isRunning={isRunning} disabled={!isReady}>
          {verb}
        </Button>
        <Button onClick={dialog.close}>Cancel</Button>
      </div>
    </form>
  </Dialog>
)

/** Asks before a change. `typed`: text that must be typed first, for what cannot be undone. */
export const Confirm = ({
  children,
  typed,
  ...form
}: Omit<Parameters<typeof FormDialog>[0], "isReady" | "kind"> & { readonly typed?: string }) => {
  const [text, setText] = useState("")
  return (
    <FormDialog {...form} kind="danger" isReady={typed === undefined || text === typed}>
      {children}
      {typed !== undefined && <TextField label={`Type “${typed}” to confirm`} value={text} onChange={setText} />}
    </FormDialog>
  )
}
