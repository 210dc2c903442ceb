/** Who is signed in, and what they may do. */
import { createContext, type ReactNode, useContext } from "react"
import type { ApiSchemas } from "./Client.js"

export type SignedInPerson = ApiSchemas["Me"]

const Context = createContext<SignedInPerson | undefined>(undefined)

export const SessionProvider = ({ children, me }: { readonly children: ReactNode; readonly me: SignedInPerson }) => (
  <Context.Provider value={me}>{children}</Context.Provider>
)

export const useMe = (): SignedInPerson => {
  const me = useContext(Context)
  if (me === undefined) throw new Error("useMe is called outside SessionProvider")
  return me
}

/** Whether `me` has a permission, written `workflows:update`, or one of several, as `secrets:read or secrets:write`. */
export const may = (me: SignedInPerson, permission: string): boolean =>
  permission.split(" or ").some((one) => {
    const [area = "", action = ""] = one.split(":")
    return me.permissions[area]?.includes(action) ?? false
  })

/** Whether the person who is signed in has a permission, written `workflows:update`. */
export const useMay = (permission: string): boolean => may(useMe(), permission)
