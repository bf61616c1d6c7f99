import type { MessagingService } from '@org/agent-messaging-core'
import { a2aError, forbidden, unauthorized } from './errors.js'

const BEARER = /^bearer ([!-+\--~]+)$/i
const PERMISSION = 'project:message'

/** The API key of one request. A key that was valid before is read again only when it must be. */
export class Access {
  readonly projectId: string
  /** The id of a key that is not read again. Give it to the send. */
  readonly recalledKeyId: string | undefined
  /** The sent key is revoked. */
  #isRevoked = false
  readonly #service: MessagingService
  readonly #apiKey: string

  private constructor(
    service: MessagingService,
    apiKey: string,
    { projectId, recalledKeyId }: { projectId: string; recalledKeyId?: string },
  ) {
    this.#service = service
    this.#apiKey = apiKey
    this.projectId = projectId
    this.recalledKeyId = recalledKeyId
  }

  /** Throws if the header has no valid key with the permission `project:message`. */
  static async of(service: MessagingService, authorization: string | undefined): Promise<Access> {
    const apiKey = BEARER.exec(authorization ?? '')?.[1]
    if (apiKey === undefined) throw unauthorized()
    const recalled = service.keys.recall(apiKey)
    if (recalled?.permissions.includes(PERMISSION))
      return new Access(service, apiKey, {
        projectId: recalled.projectId,
        recalledKeyId: recalled.id,
      })
    const found = await service.keys.authenticate(apiKey)
    if (found.isErr()) throw a2aError(found.error)
    if (!found.value.permissions.includes(PERMISSION)) throw forbidden(PERMISSION)
    return new Access(service, apiKey, { projectId: found.value.projectId })
  }

  /** Throws if a recalled key is revoked. Call it before everything except a send. */
  async confirm(): Promise<void> {
    if (this.recalledKeyId !== undefined) await this.reread()
  }

  /** Throws if the key is revoked now. An unavailable storage revokes no key. */
  async reread(): Promise<void> {
    const found = await this.#service.keys.authenticate(this.#apiKey)
    if (found.isOk() || found.error.kind !== 'unauthorized') return
    this.#isRevoked = true
    throw unauthorized()
  }

  /** Keeps that a send was refused because of the key. */
  revoke(): void {
    this.#isRevoked = true
  }

  /** Ask before you refuse a request for another reason. */
  async isRevoked(): Promise<boolean> {
    if (!this.#isRevoked) await this.confirm().catch(() => undefined)
    return this.#isRevoked
  }
}
