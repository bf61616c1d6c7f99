import type { Access } from '@org/agent-messaging-http-kit'
import { a2aError } from './errors.js'

/** What one request knows about its key. A recalled key is read again only when it must be. */
export class KeyCheck {
  readonly access: Access
  /** Whether the sent key is revoked. Undefined: not known. */
  #isRevoked: boolean | undefined

  constructor(access: Access) {
    this.access = access
  }

  /** Throws if a recalled key is revoked. Call it before everything except a send. */
  async confirm(): Promise<void> {
    const refusal = await this.access.confirm()
    if (refusal?.kind === 'unauthorized') this.refuse()
  }

  /** Throws the refusal of a revoked key. */
  refuse(): never {
    this.#isRevoked = true
    throw a2aError({ kind: 'unauthorized' })
  }

  /**
   * Keeps what the refusal of a send says about the key. A storage that is not available does not
   * say whether the key is revoked, so nothing asks it again.
   */
  sendRefused(kind: string): void {
    if (kind === 'unauthorized') this.#isRevoked = true
    if (kind === 'unavailable') this.#isRevoked ??= false
  }

  /** Ask before you refuse a request for another reason. */
  async isRevoked(): Promise<boolean> {
    if (this.#isRevoked === undefined) await this.confirm().catch(() => undefined)
    return this.#isRevoked === true
  }
}
