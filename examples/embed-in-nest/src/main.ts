// A Nest application with its own login. The API of the service stands behind this login.
import { NestFactory } from '@nestjs/core'
import type { Messaging } from '@org/agent-messaging-node'
import { AppModule } from './app.module.js'
import { MESSAGING } from './messaging.module.js'
import { Users } from './users.js'

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
app.enableShutdownHooks() // a signal stops the service
const users = app.get(Users)

/** A user sends to sessions of this user only, and reads only there. */
const http = await app.get<Messaging>(MESSAGING).http({
  authorize: ({ headers }) => {
    const id = users.idOf(headers.get('cookie'))
    if (id === undefined) return undefined
    return {
      caller: id,
      permissions: ['project:message'],
      sessions: { prefix: `${id}/` },
      principal: { endUserId: id },
    }
  },
})
app.use(http.node) // before the body parsers, which `listen` adds
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
console.log(await app.getUrl())
