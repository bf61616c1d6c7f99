import type { Sealed } from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { errAsync } from 'neverthrow'
import { z } from 'zod'
import { BASE, type ConsoleDeps } from './options.js'

const NAME = 'agent_messaging_console'
const SEALED_FOR = 'console/session'
/** A session ends so long after its sign-in, whatever happened meanwhile. */
const SESSION_MS = 12 * 3_600_000

const contents = z.object({ key: z.string(), until: z.number() })

type Parts = Pick<ConsoleDeps, 'service' | 'crypto' | 'publicUrl'>

/**
 * A session is a cookie that holds the API key, sealed with the master key: only this service can make or read one, every process
 * can, and each request asks anew what the key may do, so that revoking it ends its sessions.
 */
export function beginSession(c: Context, { service, crypto, publicUrl }: Parts, key: string): void {
  const sealed = crypto.seal(JSON.stringify({ key, until: service.now() + SESSION_MS }), SEALED_FOR)
  setCookie(c, NAME, Buffer.from(sealed).toString('base64url'), { ...cookieOptions(c, publicUrl()), maxAge: SESSION_MS / 1_000 })
}

export const endSession = (c: Context, { publicUrl }: Pick<Parts, 'publicUrl'>): void => {
  deleteCookie(c, NAME, cookieOptions(c, publicUrl()))
}

/** Whose session it is, if there is one and its key still opens anything. */
export function keyOfSession(c: Context, { service, crypto }: Parts): ReturnType<Parts['service']['keys']['authenticate']> {
  const sealed = Buffer.from(getCookie(c, NAME) ?? '', 'base64url').toString()
  const session = readSession(crypto.unseal(sealed as Sealed, SEALED_FOR))
  const isOver = session === undefined || session.until <= service.now()
  return isOver ? errAsync({ kind: 'unauthorized' as const }) : service.keys.authenticate(session.key)
}

const readSession = (text: string | undefined) => (text === undefined ? undefined : contents.parse(JSON.parse(text)))

const cookieOptions = (c: Context, publicUrl = c.req.url) =>
  ({ path: BASE, httpOnly: true, sameSite: 'Lax', secure: publicUrl.startsWith('https:') }) as const
