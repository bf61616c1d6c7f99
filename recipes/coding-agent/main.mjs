// Gives two tasks to Codex: one in its folder, and one outside of it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startModel } from '../shared/model.mjs'
import { withAgents } from '../shared/talk.mjs'

export const TASKS = ['Write "Hello" into hello.txt.', 'Write "Hello" into ../outside.txt.']

/** Calls a tool for each task. The second one needs a permission, because it leaves the folder. */
function plan({ said, toolResult }) {
  const [, text, file] = /Write "(\w+)" into (\S+)\./.exec(said.at(-1)) ?? []
  if (file === undefined) return { text: 'A task' } // Codex also asks for a title.
  if (toolResult !== undefined) return { text: 'I wrote the file.' }
  const outside = { sandbox_permissions: 'require_escalated', justification: 'May I write there?' }
  const cmd = `echo ${text} > ${file}`
  return { tool: 'exec_command', input: { cmd, ...(file.startsWith('..') && outside) } }
}

/** Starts everything in a new folder, and calls `use` with a function that gives Codex a task. */
export async function withCodex(use) {
  const parent = mkdtempSync(path.join(tmpdir(), 'codex-'))
  const workspace = path.join(parent, 'workspace')
  const model = process.env.OPENAI_BASE_URL ? undefined : await startModel({ plan })
  const env = { WORKSPACE: workspace, OPENAI_MODEL: process.env.OPENAI_MODEL ?? 'gpt-5.5' }
  try {
    const url = process.env.OPENAI_BASE_URL ?? model.url
    await withAgents(import.meta.dirname, url, env, async (client) => {
      await client.agents.create({ name: 'coder', runtime: { kind: 'acp', program: 'codex' } })
      const give = (message) => client.messages.complete('coder', { sessionId: 's', message })
      await use({ give, workspace })
    })
  } finally {
    await model?.close()
    rmSync(parent, { recursive: true, force: true })
  }
}

async function talk({ give }) {
  for (const task of TASKS) {
    console.log(`You: ${task}`)
    const { state, response, error } = await give(task)
    console.log(`Codex (${state}): ${response ?? error.message}`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await withCodex(talk)
