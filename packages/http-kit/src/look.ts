/** The platform's name, logo and colour on the pages that its customers see. */
export type PortalLook = {
  readonly name?: string | undefined
  readonly logo?: Logo | undefined
  /** CSS colours of links and buttons, such as `#3450c4`. */
  readonly accent?: { readonly light: string; readonly dark: string } | undefined
}
type Logo = {
  readonly type: 'image/svg+xml' | 'image/png'
  readonly bytes: Uint8Array<ArrayBuffer>
}
