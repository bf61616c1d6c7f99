const notices: Readonly<Record<string, string>> = {
  undone: 'Your session has ended, so nothing was done. Sign in and try again.',
  started: 'The agent is starting.',
  stopped: 'The agent is stopping. Current runs finish, and waiting messages keep waiting.',
  agentDeleted: 'The agent was deleted with its sessions and messages.',
  sessionErased: 'The session was erased with its messages.',
  webhookChanged: 'The changes were saved. They apply to the next request.',
  webhookDeleted: 'The webhook was deleted, and its waiting deliveries were cancelled.',
  tested: 'A test event is on its way to this webhook.',
  paused: 'The webhook is paused. All deliveries are kept until you resume it.',
  resumed: 'The webhook is resumed, and the kept deliveries are sent.',
  disabled: 'The webhook is disabled. Deliveries are kept up to a limit until you enable it.',
  enabled: 'The webhook is enabled. One kept delivery is sent first, then the rest.',
  finished: 'The old secret no longer signs deliveries.',
  redelivered: 'An attempt was requested. This page shows its result.',
  redeliveredBackingOff:
    'An attempt was requested. The webhook is backing off, so its oldest delivery goes first.',
  cancelled: 'Cancelled.',
  skipped: 'Skipped. The next delivery of its session is due now.',
  inputAnswered: 'The answer is stored. The agent runs again and gets the answer.',
  inputWithdrawn: 'The question was withdrawn, and its message failed.',
  retried: 'The message is at the end of its session’s queue.',
  caught: 'The catcher is now a webhook of this project. Its requests appear here.',
  answering: 'The response was changed.',
  cleared: 'The list was cleared.',
  keyRevoked: 'The API key was revoked and no longer works.',
}

/** Returns the text for an action's name in the address. Unknown names give no text. */
export const noticeText = (name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(notices, name) ? notices[name] : undefined
