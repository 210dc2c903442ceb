/** The values of a form as one object. */
import { useCallback, useState } from "react"

/** `set("name")` is the function that changes one value, for a field's `onChange`. */
export const useForm = <Values extends object>(initial: Values) => {
  const [values, setValues] = useState(initial)
  const set = useCallback(
    <Name extends keyof Values>(name: Name) =>
      (value: Values[Name]) =>
        setValues((before) => ({ ...before, [name]: value })),
    []
  )
  return { values, set, setValues }
}

/** Words between commas or white space. */
export const wordsOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((word) => word !== "")
