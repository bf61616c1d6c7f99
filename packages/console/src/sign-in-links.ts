import type { MessagingService } from '@org/agent-messaging-core'
import type { Crypto } from '@org/agent-messaging-core/runtime'
import { BASE } from './options.js'

/** Links that sign in once, for who sees this process's output. Only its memory knows them: they end with it. */
export type SignInLinks = {
  /** A path that opens the console with this key, once, within 15 minutes. */
  make(key: string): string
  /** The key behind a code that was not used yet; the code is good for nothing from here on. */
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
      links.set(crypto.sha256(code), { key, until: service.now() + LINK_MS })
      return `${BASE}/enter?code=${code}`
    },
    use(code) {
      const digest = crypto.sha256(code)
      const link = links.get(digest)
      links.delete(digest)
      return link && link.until > service.now() ? link.key : undefined
    },
  }
}
