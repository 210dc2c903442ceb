/** Buttons. One that needs a permission which the person lacks is shown disabled, with the permission's name. */
import * as Ariakit from "@ariakit/react"
import type { ReactNode } from "react"
import { useMay } from "../api/Session.js"

export interface ButtonProps {
  readonly children: ReactNode
  readonly onClick?: () => void
  readonly kind?: "main" | "danger" | "plain"
  readonly size?: "small"
  readonly type?: "button" | "submit"
  readonly disabled?: boolean
  /** The work that it started has not ended. */
  readonly isRunning?: boolean
  /** The permission that it takes, as `workflows:update`. */
  readonly needs?: string
  /** Why it is disabled, other than for lack of a permission. */
  readonly because?: string
  /** What a screen reader says, where the text alone does not tell. */
  readonly label?: string
  readonly expanded?: boolean
}

const classOf = ({ kind, size }: Pick<ButtonProps, "kind" | "size">) => ["button", kind, size].filter(Boolean).join(" ")

export const Button = (props: ButtonProps) =>
  props.needs === undefined ? <PlainButton {...props} /> : <GuardedButton {...props} needs={props.needs} />

const GuardedButton = ({ needs, ...props }: ButtonProps & { readonly needs: string }) => {
  const isAllowed = useMay(needs)
  return <PlainButton {...props} {...(isAllowed ? {} : { because: `This needs the permission ${needs}.` })} />
}

const PlainButton = ({
  because,
  children,
  disabled = false,
  expanded,
  isRunning = false,
  kind,
  label,
  onClick,
  size,
  type = "button"
}: ButtonProps) => {
  const isDisabled = disabled || isRunning || because !== undefined
  const button = (
    <Ariakit.Button
      type={type}
      className={classOf({ kind, size })}
      disabled={isDisabled}
      accessibleWhenDisabled
      aria-label={label}
      aria-busy={isRunning || undefined}
      aria-expanded={expanded}
      onClick={isDisabled ? undefined : onClick}
    >
      {children}
    </Ariakit.Button>
  )
  return because === undefined ? button : <Tip text={because}>{button}</Tip>
}

/** Shows `text` where the pointer or the focus is on its only child. */
export const Tip = ({ children, text }: { readonly children: React.JSX.Element; readonly text: string }) => (
  <Ariakit.TooltipProvider timeout={200}>
    <Ariakit.TooltipAnchor render={children} />
    <Ariakit.Tooltip className="tip">{text}</Ariakit.Tooltip>
  </Ariakit.TooltipProvider>
)
