/** Fields of forms, with label, hint, and what the API says of them. */
import { type ReactNode, useId } from "react"

interface Common {
  readonly label: string
  readonly hint?: ReactNode
  /** What is wrong with the value. */
  readonly wrong?: string | undefined
  readonly isRequired?: boolean
  readonly disabled?: boolean
}

interface Described {
  readonly id: string
  readonly "aria-describedby": string | undefined
  readonly "aria-invalid": true | undefined
  readonly required: boolean
  readonly disabled: boolean
}

/** Label, hint and mistake around a control, which gets their ids. */
export const Field = ({
  children,
  disabled = false,
  hint,
  isRequired = false,
  label,
  wrong
}: Common & { readonly children: (control: Described) => ReactNode }) => {
  const id = useId()
  const described = [hint === undefined ? "" : `${id}-hint`, wrong === undefined ? "" : `${id}-wrong`]
    .filter(Boolean)
    .join(" ")
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": wrong === undefined ? undefined : true,
        required: isRequired,
        disabled
      })}
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong !== undefined && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  )
}

interface Texted extends Common {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
}

export const TextField = ({
  onChange,
  placeholder,
  type = "text",
  value,
  ...common
}: Texted & { readonly type?: "text" | "email" | "number" | "password" | "search" | "date" | "datetime-local" }) => (
  <Field {...common}>
    {(control) => (
      <input
        {...control}
        className="input"
        type={type}
        value={value}
        placeholder={placeholder}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
)

export const TextArea = ({
  onChange,
  placeholder,
  rows = 6,
  value,
  ...common
}: Texted & { readonly rows?: number }) => (
  <Field {...common}>
    {(control) => (
      <textarea
        {...control}
        className="input"
        rows={rows}
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
    )}
  </Field>
)

/** `none`: the text of the choice that stands for no value. */
export const Select = ({
  none,
  onChange,
  options,
  value,
  ...common
}: Common & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: ReadonlyArray<string | readonly [value: string, text: string]>
  readonly none?: string
}) => (
  <Field {...common}>
    {(control) => (
      <select {...control} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map((option) => {
          const [of, text] = typeof option === "string" ? [option, option.replaceAll("_", " ")] : option
          return (
            <option key={of} value={of}>
              {text}
            </option>
          )
        })}
      </select>
    )}
  </Field>
)

export const Check = ({
  checked,
  children,
  disabled = false,
  onChange
}: {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly disabled?: boolean
  readonly children: ReactNode
}) => (
  <label className="check">
    <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
    <span>{children}</span>
  </label>
)
