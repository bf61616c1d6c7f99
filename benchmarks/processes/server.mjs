// A server with an instant agent. Counts accepted messages. With `log`, records the messages that
// it ran and the time of each answer's commit.
import { answer } from './answer.mjs'
import { answerInParts, unfinished } from './parts.mjs'
import { openService } from './service.mjs'

const { log = false, ...options } = JSON.parse(process.argv[2])
const ran = []
const finished = []
let accepted = 0

function logged({ messageId, message }) {
  ran.push(messageId)
  return message
}
const telemetry = {
  record: ({ name, messageId }) => {
    if (name === 'message.accepted') accepted++
    if (log && name === 'run.finished')
      finished.push({ messageId, at: Number(process.hrtime.bigint()) })
  },
}
const { caller, anotherProject } = await openService({
  telemetry,
  agents: { logged, answerInParts, unfinished },
  ...(log && { handler: 'logged' }),
  ...options,
})
answer(caller, {
  anotherProject,
  moreProjects: async ({ number, ...options }) => {
    const callers = []
    while (callers.length < number) callers.push(await anotherProject(options))
    return { callers }
  },
  count: () => ({ accepted }),
  ran: () => ran,
  finished: () => finished,
})
