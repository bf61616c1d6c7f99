import path from 'node:path'
import { shellWord } from './terminal.js'

export const PACKAGE = '@org/agent-messaging-server'

/** Returns the command that runs this program again in this directory. */
export function ownCommand(script: string, hasLocalProgram: boolean): string {
  if (hasLocalProgram) return 'npx agent-messaging'
  const folders = script.split(path.sep)
  // npx keeps packages that no project has installed in its cache, in the folder `_npx`.
  if (folders.includes('_npx')) return `npx ${PACKAGE}`
  if (path.basename(script) === 'agent-messaging')
    return folders.includes('node_modules') ? 'npx agent-messaging' : 'agent-messaging'
  const relative = path.relative('', script)
  return `node ${shellWord(relative.startsWith('..') ? script : relative)}`
}
