import type { ApiKey, EndpointService, SendingKey } from '@org/agent-messaging-core'
import { a2aError } from './errors.js'

const BEARER = /^bearer ([!-+\--~]+)$/i
const PERMISSION = 'project:message'

/** The API key of one request. A key that was valid before is read again only when it must be. */
export class Access {
  readonly projectId: string
  /** Give it to the send. A recalled key is not read again. */
  readonly sentBy: SendingKey
  /** Whether the sent key is revoked. Undefined: not known. */
  #isRevoked: boolean | undefined
  readonly #service: EndpointService
  readonly #apiKey: string

  private constructor(
    service: EndpointService,
    apiKey: string,
    { projectId, id }: ApiKey,
    isRecalled: boolean,
  ) {
    this.#service = service
    this.#apiKey = apiKey
    this.projectId = projectId
    this.sentBy = { id, isRecalled }
  }

  /** Throws if the header has no valid key with the permission `project:message`. */
  static async of(service: EndpointService, authorization: string | undefined): Promise<Access> {
    const apiKey = BEARER.exec(authorization ?? '')?.[1]
    if (apiKey === undefined) throw a2aError({ kind: 'unauthorized' })
    const recalled = service.keys.recall(apiKey)
    if (recalled?.permissions.includes(PERMISSION))
      return new Access(service, apiKey, recalled, true)
    const found = await service.keys.authenticate(apiKey)
    if (found.isErr()) throw a2aError(found.error)
    if (!found.value.permissions.includes(PERMISSION))
      throw a2aError({ kind: 'forbidden', permission: PERMISSION })
    return new Access(service, apiKey, found.value, false)
  }

  /** Throws if a recalled key is revoked. Call it before everything except a send. */
  async confirm(): Promise<void> {
    if (this.sentBy.isRecalled) await this.reread()
  }

  /** Throws if the key is revoked now. An unavailable storage revokes no key. */
  async reread(): Promise<void> {
    const found = await this.#service.keys.authenticate(this.#apiKey)
    if (found.isOk() || found.error.kind !== 'unauthorized') return
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
