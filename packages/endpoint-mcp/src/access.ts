import type { ApiKey, EndpointService, SendingKey } from '@org/agent-messaging-core'
import { err, ok, type Result } from 'neverthrow'
import type { HttpError } from '@org/agent-messaging-http-kit'

const BEARER = /^bearer ([!-+\--~]+)$/i

/** The API key of one request. A key that was valid before is read again only when it must be. */
export class Access {
  readonly key: ApiKey
  /** Give it to the send. A recalled key is not read again. */
  readonly sentBy: SendingKey
  readonly #service: EndpointService
  readonly #sent: string

  private constructor(service: EndpointService, sent: string, key: ApiKey, isRecalled: boolean) {
    this.#service = service
    this.#sent = sent
    this.key = key
    this.sentBy = { id: key.id, isRecalled }
  }

  static async of(
    service: EndpointService,
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
    if (!this.sentBy.isRecalled) return undefined
    const found = await this.#service.keys.authenticate(this.#sent)
    return found.isErr() ? found.error : undefined
  }
}
