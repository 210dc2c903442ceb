/** Buttons. One that needs a permission which the person lacks is shown disabled, with the permission's name. */
import * as Ariakit from "@ariakit/react"
import { useMay } from "../api/Session.js"

export interface ButtonProps {
  readonly children: string
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
  /** What it acts on, where the text alone does not tell: said after the text, which the name of a button must contain. */
  readonly object?: string
  /** Shown instead of the text, which is then only said. */
  readonly symbol?: string
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
  object,
  onClick,
  size,
  symbol,
  type = "button"
}: ButtonProps) => {
  const isDisabled = disabled || isRunning || because !== undefined
  const button = (
    <Ariakit.Button
      type={type}
      className={classOf({ kind, size })}
      disabled={isDisabled}
      accessibleWhenDisabled
      aria-label={object === undefined ? children : `${children} ${object}`}
      aria-busy={isRunning || undefined}
      aria-expanded={expanded}
      onClick={isDisabled ? undefined : onClick}
    >
      {symbol ?? children}
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
