/* The protocol of metric files, for spin: every interleaving of
 *   - a writer that may be killed between any two of its steps, and the next process with its pid, which goes on with the file;
 *   - a reader, which takes the used size, then the size, then the entries up to used, one word after the other;
 *   - a cleaner, which folds the file of a dead writer away.
 * An entry is two words, a key and a value. What is atomic in a step here is one store, one system call, or needs nothing of others.
 *
 * Safe are: no reader sees a file without its header, used beyond the size, or an entry that is not whole; no value gets lower; no increment is lost
 * or counted twice. BROKEN_... take one rule of the protocol away, and must each be found out. */
#define INODES 4
#define NONE 9
#define HEADER 1
#define WORDS 5
#define KEY 1

typedef inode {
	byte size;
	byte used;
	byte word[WORDS];
	bit locked
};
inode file[INODES];
byte name = NONE; /* the inode that the name in the directory leads to */
byte made = 0;
byte counted = 0; /* increments that were done */
byte folded = 0; /* increments in files that were folded away */
bit dead = 0; /* the first writer was killed or has ended */
byte finished = 0;

/* Killed here, perhaps: the kernel gives its lock back. */
#define MORTAL if :: mortal -> goto killed :: true fi

proctype writer(bit mortal)
{
	byte mine = NONE, at, increments = 0;

	mortal || dead; /* one pid, one process at a time */
open:
	MORTAL;
	if
	:: name == NONE ->
		d_step { mine = made; made++; file[mine].locked = 1 } /* made and locked under a hidden name */
#ifdef BROKEN_NAME
		name = mine;
#endif
		MORTAL;
		file[mine].size = HEADER + 2;
		MORTAL;
		file[mine].used = HEADER;
		MORTAL;
#ifndef BROKEN_NAME
		if
		:: atomic { name == NONE -> name = mine }
		:: atomic { name != NONE && name != mine -> file[mine].locked = 0; mine = NONE; goto open }
		fi
#endif
	:: atomic { name != NONE -> mine = name }
		MORTAL;
		if
		:: atomic { file[mine].locked == 0 -> file[mine].locked = 1 }
		:: atomic { file[mine].locked -> mine = NONE; goto killed } /* busy: it would count in memory */
		fi;
#ifndef BROKEN_LOCK
		if
		:: atomic { name != mine -> file[mine].locked = 0; mine = NONE; goto open } /* folded away meanwhile */
		:: name == mine
		fi
#endif
	fi;
	do
	:: increments < 2 ->
		at = HEADER + 2 * increments;
		if
		:: file[mine].used > at -> skip /* a predecessor's entry, or ours: taken over */
		:: else ->
#ifdef BROKEN_ORDER
			file[mine].size = at + 2;
			MORTAL;
			file[mine].used = at + 2;
			MORTAL;
			file[mine].word[at] = KEY;
			MORTAL;
			file[mine].word[at + 1] = 0
#else
#ifdef BROKEN_SIZE
			file[mine].word[at] = KEY;
			MORTAL;
			file[mine].word[at + 1] = 0;
			MORTAL;
			file[mine].used = at + 2;
			MORTAL;
			file[mine].size = at + 2
#else
			if
			:: file[mine].size < at + 2 -> file[mine].size = at + 2
			:: else
			fi;
			MORTAL;
			file[mine].word[at] = KEY;
			MORTAL;
			file[mine].word[at + 1] = 0;
			MORTAL;
			file[mine].used = at + 2
#endif
#endif
		fi;
		MORTAL;
		d_step { file[mine].word[at + 1] = file[mine].word[at + 1] + 1; counted++ } /* one store, into a cell that nobody else writes */
		increments++
	:: else -> break
	od;
killed:
	skip;
	d_step {
		if
		:: mine != NONE -> file[mine].locked = 0
		:: else
		fi;
		mine = NONE;
		dead = 1;
		finished++
	}
}

proctype reader()
{
	byte i, used, size, at, rounds = 0, before = NONE;
	byte low[WORDS];

	do
	:: rounds < 2 ->
		i = name;
		if
		:: i == NONE
		:: else ->
			used = file[i].used;
			size = file[i].size;
			assert(used >= HEADER);
			assert(used <= size);
			at = HEADER;
			do
			:: at < used ->
				assert(file[i].word[at] == KEY);
				d_step {
					assert(i != before || file[i].word[at + 1] >= low[at]);
					low[at] = file[i].word[at + 1];
					at = at + 2
				}
			:: else -> break
			od;
			before = i
		fi;
		rounds++
	:: else -> break
	od;
	finished++
}

/* Does not know whether the writer lives: the lock tells. */
proctype cleaner()
{
	byte i, rounds = 0, at;

	do
	:: rounds < 2 ->
		i = name;
		if
		:: i == NONE
		:: else ->
			if
			:: atomic { file[i].locked == 0 -> file[i].locked = 1 }
				if
				:: name == i ->
					at = HEADER;
					d_step {
						do
						:: at < file[i].used -> folded = folded + file[i].word[at + 1]; at = at + 2
						:: else -> break
						od;
						name = NONE
					}
				:: else
				fi;
				file[i].locked = 0
			:: file[i].locked
			fi
		fi;
		rounds++
	:: else -> break
	od;
	finished++
}

init
{
	byte at = HEADER, left = 0;

	atomic { run writer(1); run writer(0); run reader(); run cleaner() }
	finished == 4;
	if
	:: name != NONE ->
		do
		:: at < file[name].used -> left = left + file[name].word[at + 1]; at = at + 2
		:: else -> break
		od
	:: else
	fi;
	assert(folded + left == counted)
}
