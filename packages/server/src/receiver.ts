import { catchWebhook, type SignatureCheck } from '@org/agent-messaging-console/catch-webhook'
import { openListener, type Listener } from './listener/http-listener.js'
import { printable } from './terminal.js'

export type ReceiverOptions = {
  /** 0 picks a free port. */
  readonly port: number
  /** The webhook's secret. Without a secret, signatures are not checked. */
  readonly secret?: string | undefined
  /** Status of the response to a valid delivery. Default: 200. An invalid one always gets 401. */
  readonly status?: number | undefined
  readonly onDelivery: (received: Received) => void
}

export type Received = {
  /** A few lines for a terminal. */
  readonly text: string
  /** True if the signatures were checked and are valid. */
  readonly isValid: boolean
  readonly deliveryId: string
}

const RESULTS: { readonly [C in SignatureCheck]: { text: string; status?: number } } = {
  valid: { text: 'signature valid' },
  invalid: { text: 'SIGNATURE INVALID for this secret', status: 401 },
  unsigned: { text: 'NOT SIGNED', status: 401 },
  unchecked: { text: 'signature not checked (no secret was given)' },
  'too long': { text: 'REJECTED: the body exceeds 8 MiB', status: 413 },
}

/**
 * Opens a webhook receiver for development on this machine. The receiver checks the signatures of
 * each delivery and describes it.
 */
export const openReceiver = ({
  port,
  secret,
  status = 200,
  onDelivery,
}: ReceiverOptions): Promise<Listener> =>
  openListener({
    host: '127.0.0.1',
    port,
    portSetting: '--port',
    fetch: async (request) => {
      const { event, deliveryId, signature, body } = await catchWebhook(request, secret)
      const result = RESULTS[signature]
      const time = new Date().toISOString().slice(11, 19)
      const head = `${time}  ${event}  delivery ${deliveryId || '(none)'}  ${result.text}`
      onDelivery({
        // Any web page in a local browser can send requests to this receiver.
        text: printable(`${head}\n${body === '' ? '' : `${pretty(body)}\n`}`),
        isValid: signature === 'valid',
        deliveryId,
      })
      return new Response(null, { status: result.status ?? status })
    },
  })

function pretty(body: string) {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
