import type { ApiKey, MessagingService } from '@org/agent-messaging-core'
import { err, ok, type Result } from 'neverthrow'
import type { HttpError } from './errors.js'

const BEARER = /^bearer ([!-+\--~]+)$/i

/** The API key of one request. A key that was valid before is read again only when it must be. */
export class Access {
  readonly key: ApiKey
  /** The id of a key that is not read again. Give it to the send. */
  readonly recalledKeyId: string | undefined
  readonly #service: MessagingService
  readonly #sent: string

  private constructor(service: MessagingService, sent: string, key: ApiKey, isRecalled: boolean) {
    this.#service = service
    this.#sent = sent
    this.key = key
    this.recalledKeyId = isRecalled ? key.id : undefined
  }

  static async of(
    service: MessagingService,
    authorization: string | undefined,
  ): Promise<Result<Access, HttpError>> {
    const sent = BEARER.exec(authorization ?? '')?.[1]
    if (sent === undefined) return err({ kind: 'unauthorized' })
    const recalled = service.keys.recall(sent)
    if (recalled) return ok(new Access(service, sent, recalled, true))
    const found = await service.keys.authenticate(sent)
    return found.map((key) => new Access(service, sent, key, false))
  }

  /** Returns a refusal if a recalled key is not valid now. Call it unless the request sends. */
  async confirm(): Promise<HttpError | undefined> {
    if (this.recalledKeyId === undefined) return undefined
    const found = await this.#service.keys.authenticate(this.#sent)
    return found.isErr() ? found.error : undefined
  }
}
