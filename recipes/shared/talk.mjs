// Talks to the agent `support` of a recipe. `npm start` of a recipe runs this file in its folder:
// with the model at OPENAI_BASE_URL, or with the model of this folder.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@org/agent-messaging-client'
import { startModel } from './model.mjs'
import { startService } from './service.mjs'

export const QUESTIONS = ['Where is order 42?', 'What did I ask before?']

/** Starts the service with the agents of the folder, calls `use`, and stops the service. */
export async function withAgents(folder, modelUrl, settings, use) {
  const env = {
    OPENAI_BASE_URL: modelUrl,
    OPENAI_API_KEY: process.env.OPENAI_API_KEY ?? 'none',
    OPENAI_MODEL: process.env.OPENAI_MODEL ?? 'plan',
    ...settings,
  }
  const service = await startService({ agents: path.join(folder, 'agents.mjs'), env })
  try {
    return await use(createClient({ baseUrl: service.url, apiKey: service.key }), service)
  } finally {
    await service.stop()
  }
}

/** Sends a message to an agent. Yields the pieces of the answer, and returns the final message. */
export async function* ask(client, agent, message) {
  const { messageId } = await client.messages.send(agent, message, { waitSeconds: 0 })
  for await (const event of client.messages.stream(agent, messageId)) {
    if (event.event === 'chunk') yield event.text
    if (event.event === 'message') return event.message
  }
  throw new Error(`the stream of ${messageId} ended without a final message`)
}

async function talk(client) {
  for (const message of QUESTIONS) {
    process.stdout.write(`You: ${message}\nAgent: `)
    const pieces = ask(client, 'support', { sessionId: 'customer-42', message })
    let next = await pieces.next()
    for (; !next.done; next = await pieces.next()) process.stdout.write(next.value)
    if (next.value.state !== 'responded') throw new Error(`the message is ${next.value.state}`)
    process.stdout.write('\n')
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.env.OPENAI_BASE_URL
  const model = given ? undefined : await startModel()
  try {
    await withAgents(process.cwd(), given ?? model.url, {}, talk)
  } finally {
    await model?.close()
  }
}
