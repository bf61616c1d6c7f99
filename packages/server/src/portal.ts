import { existsSync, readFileSync, statSync } from 'node:fs'
import type { PortalLook, PortalOptions } from '@org/agent-messaging-console'
import type { PortalPages } from '@org/agent-messaging-adapter-http'
import { OperatorError } from './operator-error.js'

/** The pages of customers, which need the console. */
export type PortalSettings = {
  readonly name?: string | undefined
  /** The path of an .svg or .png file. */
  readonly logo?: string | undefined
  readonly accent?: PortalLook['accent']
  /** Origins that the `returnUrl` of a link can have. Default: none. */
  readonly returnOrigins?: readonly string[] | undefined
  /** Origins whose pages can show the portal in a frame. Default: none. */
  readonly frameOrigins?: readonly string[] | undefined
  /** Default: all. */
  readonly events?: PortalOptions['events']
}

const MAX_LOGO_BYTES = 256 * 1024

/** Throws an `OperatorError` if the logo cannot be read. */
export const lookOf = ({ name, logo, accent }: PortalSettings): PortalLook => ({
  name,
  logo: logo === undefined ? undefined : logoIn(logo),
  accent,
})

function logoIn(file: string): PortalLook['logo'] {
  if (!existsSync(file)) throw new OperatorError(`SERVICE_PORTAL_LOGO: ${file} does not exist`, 2)
  if (statSync(file).size > MAX_LOGO_BYTES)
    throw new OperatorError(`SERVICE_PORTAL_LOGO: ${file} has more than 256 KiB`, 2)
  const type = file.toLowerCase().endsWith('.svg') ? 'image/svg+xml' : 'image/png'
  return { type, bytes: new Uint8Array(readFileSync(file)) }
}

/** Links need the URL at which customers reach this server. */
export const portalPages = (
  { returnOrigins = [] }: PortalSettings,
  publicUrl: () => string | undefined,
): PortalPages => ({
  pageUrl: () => {
    const base = publicUrl()
    return base === undefined ? undefined : `${base}/console/portal`
  },
  returnOrigins,
})
