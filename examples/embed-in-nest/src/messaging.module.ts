import { Inject, Module, type BeforeApplicationShutdown } from '@nestjs/common'
import { createMessaging, type Messaging } from '@org/agent-messaging-node'
import { assistant } from './assistant.js'

export const MESSAGING = Symbol('messaging')

const isLocal = process.env['LOCAL_WEBHOOKS'] === '1' // never in production
const open = () =>
  createMessaging({
    database: process.env['DATABASE'] ?? 'file:messaging.db',
    agents: { assistant },
    addresses: { allowLoopback: isLocal, allowHttp: isLocal },
  })

/** The service starts and stops with the application. */
@Module({ providers: [{ provide: MESSAGING, useFactory: open }], exports: [MESSAGING] })
export class MessagingModule implements BeforeApplicationShutdown {
  constructor(@Inject(MESSAGING) private readonly messaging: Messaging) {}

  /** Ends streams and waits before Nest closes the server, and lets runs end. */
  beforeApplicationShutdown(): Promise<void> {
    return this.messaging.stop()
  }
}
