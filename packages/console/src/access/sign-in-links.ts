import { BASE } from '../path.js'
import type { MessagingService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'

/** One-time links for the person who sees this process's output. They end with the process. */
export type SignInLinks = {
  /** Returns a path that opens the console with this key, once, within 15 minutes. */
  make(key: string): string
  /** Returns the key of an unused code, and makes the code unusable. */
  use(code: string): string | undefined
}

const LINK_MS = 15 * 60_000

export function signInLinks({
  crypto,
  service,
}: {
  readonly crypto: Crypto
  readonly service: MessagingService
}): SignInLinks {
  const links = new Map<string, { readonly key: string; readonly until: number }>()
  return {
    make(key) {
      const code = Buffer.from(crypto.randomBytes(24)).toString('base64url')
      links.set(crypto.sha256(code), { key, until: service.host.now() + LINK_MS })
      return `${BASE}/enter?code=${code}`
    },
    use(code) {
      const digest = crypto.sha256(code)
      const link = links.get(digest)
      links.delete(digest)
      return link && link.until > service.host.now() ? link.key : undefined
    },
  }
}
