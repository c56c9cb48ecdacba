"""Text of the test PDFs, written for them, about a fictional river."""

TITLE = "The Gauges of the River Oster"
AUTHOR = "Ada Miller"

P = [
    "The river Oster rises in a marsh above the village of Hallow and reaches the sea after ninety kilometres. Nobody has ever drawn all of its side arms, because the floods of each spring move them. Older maps therefore show a different river, and the farmers who live beside it trust none of them.",
    "A gauge is a painted board that stands in the water. Its zero lies below the lowest level that was ever seen, so that no reading is negative. Boards of oak last about thirty years; those of plastic break in the first hard winter when ice presses against them.",
    "Every morning at seven the keeper walks to the board, reads the level to the nearest centimetre, and writes it in a book. The book stays in a tin box beside the path. When the keeper is ill, the teacher of the village school reads the board with her pupils instead.",
    "Measurements from nine stations were compared over eleven years. Differences of more than four centimetres between neighbouring stations turned out to be mistakes in almost every case: a digit that was read wrongly, a line of the book that was used twice, or a board that had sunk into the mud.",
    "Instruments that record the level by themselves were introduced slowly. The first of them used a float in a pipe, with a pen that drew on a drum of paper. It needed winding once a week, and its clock stopped whenever the temperature fell below minus twelve degrees.",
    "Pressure sensors came later. They lie at the bottom and weigh the water above them, which makes them insensitive to wind and ice. Their zero drifts by some millimetres a year, so they have to be checked against the old boards, and for that reason the boards are still painted.",
    "Floods arrive at night more often than by day. Snow melts in the afternoon sun, and the water needs about seven hours from the marsh to the first bridge. A warning that leaves the upper station at noon is therefore early enough for everybody who sleeps in the lower villages.",
    "The largest flood of the last century lifted the wooden bridge at Fennick off its pillars and set it down, nearly unharmed, in an orchard two kilometres away. It was used there as the floor of a barn until the barn burned, and the blackened beams are now shown in the town hall.",
    "Low water is less dramatic but costs more. Barges that could carry four hundred tonnes are loaded with half of that, the mill at Greyford stands still, and fish collect in the few deep pools, where herons and children find them without any effort.",
    "Whoever wants to predict the level of tomorrow begins with the level of today. This simple rule is right to within ten centimetres on three hundred days of the year. All effort of hydrology goes into the remaining sixty-five days, and most of it into fewer than ten.",
    "Rain is measured at fourteen places in the valley. The amounts are weighted by the area for which each place speaks, and the sum is fed into a model with three reservoirs: one for the soil, one for the ground below, and one for the channel itself.",
    "The soil reservoir empties fast when it is nearly full and hardly at all when it is nearly empty. Its behaviour was fitted with data of wet years only. That is why the model promises too much water after a long drought, a weakness that every keeper knows by heart.",
    "Data are sent by radio each quarter of an hour. A message holds the number of the station, the time, the level and the voltage of the battery; nothing else is needed. Lost messages are not repeated, since the next one will arrive before anybody misses the one before.",
    "Errors have a way of hiding among correct values. A level that has not changed by a single millimetre for two days is more suspicious than one that jumps, for rivers are never still. Programs that look for jumps only will not find a frozen sensor.",
    "Trust grows where readings can be compared. Each station therefore has two sensors of different makes, and the painted board as judge. If both sensors disagree with the board, the board is right; if the board disagrees with the bridge, somebody has moved the board.",
    "Old books of readings are kept in the archive of the county, on forty metres of shelves. Students copied the oldest of them into tables during three summers. They found a keeper who invented his readings from October to March, evidently to avoid the walk through the snow.",
    "His numbers were smooth, plausible, and wrong. The fraud was discovered because the invented levels never rose on Sundays. After two centuries it does no harm, but the case is told to every new keeper on the first day of work, together with a pair of good boots.",
    "Cables suffer from mice, solar panels from snow, and masts from lightning. Spare parts for all of them lie in a shed at the middle station. A list on its door says what was taken and when; the list is longer than it should be and shorter than it could be.",
    "In autumn the leaves of the poplars cover the intake of the pipes. They have to be raked away by hand each week, a task that no machine has taken over so far. Volunteers from the rowing club help with it and get the use of the landing stage in return.",
    "Future work will extend the network into the side valleys. Four more stations would halve the uncertainty of the forecast for the upper villages. Their cost is that of a small fire engine, which is how the council has been asked to think of them.",
    "The author thanks the keepers for their patience, the rowing club for its boats, and the owner of the mill for coffee. None of them is responsible for the mistakes that remain, except for the one on the drum of paper, which was made by the mill's cat.",
    "A final remark concerns the name of the river. Some hold that it means the eastern one, although it flows to the west. Others derive it from a word for oysters, of which there never were any. The boards do not care and show the level under any name.",
]

CODE = '''def level(samples, zero=0.0):
    """Returns the mean level in metres."""
    kept = [s for s in samples if s is not None]
    if not kept:
        return None

    mean = sum(kept) / len(kept)
    return round(mean - zero, 3)'''

TABLE = [
    ["Station", "Kilometre", "Zero (m)", "Keeper", "Since"],
    ["Hallow", "3.2", "412.50", "B. Stone", "1911"],
    ["Fennick", "17.8", "388.05", "R. Vale", "1926"],
    ["Greyford", "41.0", "301.77", "L. Marsh", "1954"],
    ["Old Weir", "66.4", "154.20", "T. Reed", "1987"],
    ["Estuary", "88.9", "2.15", "none", "2003"],
]

WRAPPED = [
    ["Part", "Life", "What it is for"],
    ["Float", "12 years", "Rises and falls with the water in the pipe and moves the pen by a thin steel wire that runs over two wheels."],
    ["Sensor", "8 years", "Weighs the water above it and gives a voltage that grows with the depth."],
    ["Radio", "15 years", "Sends the level to the office each quarter of an hour, also when the line of the mains is down for days."],
    ["Battery", "4 years", "Feeds all of them in winter, when snow covers the panel."],
]

BULLETS = [
    "Check that the board stands upright and that its screws are tight.",
    "Wipe the mud from the lowest metre, otherwise low levels cannot be read from the bank, whatever the light is.",
    "Compare the level with both sensors and write down all three values.",
    "Close the tin box.",
]

STEPS = [
    "Open the valve of the pipe by a quarter turn.",
    "Wait until the float has come to rest, which takes two minutes on calm days and up to ten when the wind blows along the river.",
    "Read the pen, not the drum.",
    "Close the valve again.",
]

HEBREW = [
    "הנהר זורם מן הביצה אל הים ואיש אינו מכיר את כל זרועותיו.",
    "בכל בוקר בשעה שבע הולך השומר אל הלוח וקורא את גובה המים.",
    "בשנת 1926 נבנה הגשר הראשון, ומאז עומד שם לוח מעץ.",
]
CHINESE = [
    "这条河发源于村庄上方的沼泽，流经九十公里后入海。每年春天的洪水都会改变它的支流，所以没有人画出过全部支流。",
    "每天早上七点，看守人走到水尺旁，读出水位，精确到厘米，然后写在本子上。本子放在小路旁的铁盒里。",
    "冬天的冰会压坏塑料水尺，而橡木水尺大约可以使用三十年。因此村民们仍然相信木头。",
]
