/** The cookies of one browser: stores those of answers, and adds them to requests. */
export const makeCookieJar = () => {
  const cookies = new Map<string, string>()
  return {
    keep: (headers: { readonly [name: string]: string | undefined }): void => {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(headers["set-cookie"] ?? "") ?? []
      if (value !== "") cookies.set(name, value)
      else cookies.delete(name)
    },
    sent: (): { readonly [name: string]: string } =>
      cookies.size === 0 ? {} : { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") }
  }
}
