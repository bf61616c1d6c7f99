const notices: Readonly<Record<string, string>> = {
  undone: 'Your session was over, so nothing was done. Sign in, and do it again.',
  started: 'The agent was told to start.',
  stopped: 'The agent was told to stop: what it runs may finish, what waits will wait.',
  agentDeleted: 'The agent is deleted, with its sessions and messages.',
  sessionErased: 'The session is erased, with its messages.',
  webhookChanged: 'The webhook is changed: this holds from the next request on.',
  webhookDeleted: 'The webhook is deleted: what waited for it is cancelled.',
  tested: 'A test event is on its way to this webhook.',
  paused: 'The webhook is paused. What it would get is kept until it is enabled.',
  enabled: 'The webhook is enabled. What was kept is sent: one delivery first, then the rest.',
  finished: 'The old secret signs nothing any more.',
  redelivered:
    'The delivery is due now. Where the webhook is backing off, the one that waited longest goes first.',
  cancelled: 'It is cancelled.',
  retried: 'The message is at the end of its session’s queue.',
  caught: 'The catcher is a webhook now: whatever happens is shown here.',
  answering: 'The catcher answers so from now on.',
  cleared: 'Nothing is kept any more of what was caught.',
}

/** What the page before has done, by its name in the address: the words are ours, whoever made the address. */
export const noticeText = (name: string | undefined): string | undefined =>
  name !== undefined && Object.hasOwn(notices, name) ? notices[name] : undefined
